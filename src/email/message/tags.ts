import type { EmailMessage } from '../carriers/sending.js';

/** What Resend and SES accept; any other tag would get the whole email rejected. */
const IS_TAG = /^[A-Za-z0-9_-]{1,256}$/;

/** What leads a carrier's reports back to the delivery. */
export const labelsOf = ({ deliveryid, tenantid }: EmailMessage): Readonly<Record<string, string>> => ({
  ...(deliveryid === null ? {} : { deliveryid }),
  tenantid: String(tenantid),
});

/** The same as tags, and the email's categories as far as they are valid tags. */
export function tagsOf(email: EmailMessage): readonly (readonly [name: string, value: string])[] {
  const valid = (email.categories ?? []).filter((category) => IS_TAG.test(category));
  return [
    ...Object.entries(labelsOf(email)),
    ...valid.map((category, index) => [`category_${index + 1}`, category] as const),
  ];
}

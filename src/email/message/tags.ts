import type { EmailMessage } from '../carriers/sending.js';

/** What Resend and SES accept; any other tag would get the whole email rejected. */
const IS_TAG = /^[A-Za-z0-9_-]{1,256}$/;

/** Tags that lead a carrier's reports back to the delivery, and its categories as far as they are valid tags. */
export function tagsOf({
  deliveryid,
  tenantid,
  categories = [],
}: EmailMessage): readonly (readonly [name: string, value: string])[] {
  const valid = categories.filter((category) => IS_TAG.test(category));
  return [
    ...(deliveryid === null ? [] : [['deliveryid', deliveryid] as const]),
    ['tenantid', String(tenantid)],
    ...valid.map((category, index) => [`category_${index + 1}`, category] as const),
  ];
}

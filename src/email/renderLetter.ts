import { addressEmail } from './addressEmail.js';
import { comparable, type Address } from './addresses.js';
import { EmailProblem, type Email } from './email.js';
import type { EmailField, EmailFields } from './emailFields.js';
import { readLetter } from './letter.js';
import type { Rendered } from './renderFields.js';

type RenderTexts = (texts: readonly (EmailField | undefined)[], unsubscribeUrl?: string) => Promise<Rendered>;

/** Renders all texts of a mail. Throws EmailProblem. */
export async function renderLetter(fields: EmailFields, render: RenderTexts): Promise<Email> {
  const rendered = await render(textsOf(fields));
  return { ...addressEmail(fields, rendered.textOf), ...readLetter(fields, rendered) };
}

/**
 * Renders a mail that can be unsubscribed from. The link is the recipient's, so the addresses are rendered first. Throws
 * EmailProblem.
 * @param urlOf where a recipient unsubscribes, whose address is in lower case
 */
export async function renderWithLink(
  fields: EmailFields,
  render: RenderTexts,
  urlOf: (address: string) => string,
): Promise<Email> {
  const { sender, subject, recipients, cc, bcc, ...letter } = fields;
  const { textOf } = await render([sender, subject, recipients, cc, bcc].flat());
  const addressed = addressEmail(fields, textOf);
  const url = urlOf(comparable(onlyRecipient(addressed).email));
  const read = readLetter(fields, await render(textsOf(letter), url));
  return {
    ...addressed,
    ...read,
    headers: { ...read.headers, ...unsubscribeHeaders(url) },
    canUnsubscribe: true,
  };
}

/** Filters and locale were rendered before. */
function textsOf(fields: Partial<EmailFields>): readonly (EmailField | undefined)[] {
  return Object.values({ ...fields, filters: undefined, locale: undefined }).flat();
}

/** Throws EmailProblem. */
function onlyRecipient({ recipients }: Pick<Email, 'recipients'>): Address {
  const [recipient] = recipients;
  if (recipient && recipients.length === 1) return recipient;
  throw new EmailProblem('failed', {
    code: 'UNSUBSCRIBE_RECIPIENTS',
    field: 'recipients',
    message: `the mail has ${recipients.length} recipients, and its link to unsubscribe is of one`,
    hint: 'Send one mail to each recipient, or set unsubscribe to none.',
  });
}

/** RFC 8058: mailboxes offer to unsubscribe with one click. */
const unsubscribeHeaders = (url: string): Readonly<Record<string, string>> => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

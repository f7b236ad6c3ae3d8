import { addressEmail } from './addressEmail.js';
import { comparable, type Address } from './addresses.js';
import { EmailProblem, type Email } from './email.js';
import type { EmailField, EmailFields } from './emailFields.js';
import { readContent } from './emailContent.js';
import type { Rendered } from './renderFields.js';

type RenderTexts = (texts: readonly (EmailField | undefined)[], unsubscribeUrl?: string) => Promise<Rendered>;

/** An email, also one without a valid recipient. */
interface RenderedEmail {
  readonly email: Email;
  readonly recipientProblem?: EmailProblem | undefined;
}

/** Renders an email. Throws EmailProblem. */
export async function renderEmail(fields: EmailFields, render: RenderTexts): Promise<RenderedEmail> {
  const rendered = await render(textsOf(fields));
  const { addressed, recipientProblem } = addressEmail(fields, rendered.textOf);
  try {
    return { recipientProblem, email: Object.assign({}, addressed, readContent(fields, rendered)) };
  } catch (error) {
    throw recipientProblem ?? error;
  }
}

/**
 * Renders an email with an unsubscribe link. The link is specific to the recipient, so addresses are rendered first.
 * Throws EmailProblem.
 * @param urlOf the unsubscribe URL for an address in lower case
 */
export async function renderWithLink(
  fields: EmailFields,
  render: RenderTexts,
  urlOf: (address: string) => string,
): Promise<RenderedEmail> {
  const { sender, subject, recipients, cc, bcc, ...content } = fields;
  const { textOf } = await render([sender, subject, recipients, cc, bcc].flat());
  const { addressed, recipientProblem } = addressEmail(fields, textOf);
  const url = urlOf(recipientProblem ? '' : comparable(onlyRecipient(addressed).email));
  try {
    const read = readContent(fields, await render(textsOf(content), url));
    const headers = { ...read.headers, ...unsubscribeHeaders(url) };
    return { email: { ...addressed, ...read, headers, canUnsubscribe: true }, recipientProblem };
  } catch (error) {
    throw recipientProblem ?? error;
  }
}

/** All fields except filters and locale, which were rendered earlier. */
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
    message: `the email has ${recipients.length} recipients, but its unsubscribe link is for one`,
    hint: 'Send one email to each recipient, or set unsubscribe to none.',
  });
}

/** RFC 8058: mailboxes offer to unsubscribe with one click. */
const unsubscribeHeaders = (url: string): Readonly<Record<string, string>> => ({
  'List-Unsubscribe': `<${url}>`,
  'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
});

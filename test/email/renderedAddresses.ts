import type { TemplatePool } from 'rowpost-jinja2';
import type { EmailType } from '../../src/db/email/emailTypes.js';
import { addressEmail } from '../../src/email/addressEmail.js';
import type { Address } from '../../src/email/addresses.js';
import { EmailProblem } from '../../src/email/email.js';
import { readContent } from '../../src/email/emailContent.js';
import { fieldsOf } from '../../src/email/emailFields.js';
import { renderFields } from '../../src/email/renderFields.js';

export interface RenderedAddresses {
  readonly sender: Address;
  readonly recipients: readonly Address[];
  readonly cc: readonly Address[];
  readonly bcc: readonly Address[];
  readonly replyTo: readonly Address[];
}

/** The addresses of an email of such a type about the given data, or the code of its problem. */
export async function renderAddresses(
  pool: TemplatePool,
  changes: Partial<EmailType>,
  data: Readonly<Record<string, unknown>>,
): Promise<RenderedAddresses | string> {
  const type: EmailType = {
    syntax: 'jinja2',
    template: 'x',
    subject: 'S',
    sender: 'shop@example.com',
    recipients: ['ada@example.com'],
    queries: [],
    options: {},
    ...changes,
  };
  const fields = fieldsOf(type);
  const { sender, recipients, cc, bcc, replyTo } = fields;
  const rendered = await renderFields(pool, 1, type, JSON.stringify(data), [
    sender,
    ...recipients,
    ...cc,
    ...bcc,
    replyTo,
  ]);
  try {
    const { addressed, recipientProblem } = addressEmail(fields, rendered.textOf);
    if (recipientProblem) throw recipientProblem;
    return { ...addressed, replyTo: readContent(fields, rendered).replyTo ?? [] };
  } catch (error) {
    if (!(error instanceof EmailProblem)) throw error;
    return error.failure.code;
  }
}

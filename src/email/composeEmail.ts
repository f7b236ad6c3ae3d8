import type { EmailType } from '../db/delivery/emailTypes.js';
import type { TemplatePool } from '../templates/index.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { writeJson } from '../losslessJson.js';
import { addressEmail } from './addressEmail.js';
import { comparable, type Address } from './addresses.js';
import { findAttachments, type AttachmentDeps } from './attachments.js';
import {
  EmailProblem,
  type Email,
  type EmailFailure,
  type EmailTrigger,
  type QueryOutcome,
} from './email.js';
import { fieldsOf, type EmailField, type EmailFields } from './emailFields.js';
import { readLetter } from './letter.js';
import { bytesOf, MAX_MAIL_BYTES } from './mail/mailSize.js';
import { markedRecords, type MarkDeps } from './numericMarks.js';
import { renderFields, type Rendered } from './renderFields.js';
import { withServedNames } from './servedNames.js';
import { runQueries, type QueryDeps } from './runQueries.js';

export interface ComposeDeps extends QueryDeps, AttachmentDeps, MarkDeps {
  readonly engine: QueryDeps['engine'] &
    AttachmentDeps['engine'] &
    MarkDeps['engine'] &
    Pick<DataEngine, 'fileLink'>;
  readonly templates: Pick<TemplatePool, 'render'>;
  readonly baseUrl: string;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** A mail, or why there is none. `queries` are the outcomes of the queries that were run. */
export type Composed = { readonly queries: readonly QueryOutcome[] } & (
  | { readonly kind: 'email'; readonly email: Email }
  | { readonly kind: EmailProblem['kind']; readonly failure: EmailFailure }
);

/**
 * Makes the mail of a trigger: runs the type's queries with the rights of the trigger's role, and renders every
 * text. Deliveries and previews both come through here, so that a preview is what would be sent. Rejects for bugs and
 * broken connections only.
 */
export async function composeEmail(
  deps: ComposeDeps,
  trigger: EmailTrigger,
  type: EmailType,
  unsubscribeUrlOf: UnsubscribeUrlOf,
): Promise<Composed> {
  const fields = fieldsOf(type);
  const render = (context: string, texts: readonly (EmailField | undefined)[]): Promise<Rendered> =>
    renderFields(deps.templates, trigger.tenantid, type, context, texts);
  let queries: readonly QueryOutcome[] = [];
  try {
    const marked = { ...trigger, ...(await markedRecords(deps, trigger)) };
    if (type.queries.length > 0) {
      const before = contextJson(deps, marked, []);
      const { filters } = fields;
      const { textOf: filterOf } = await render(before, filters);
      queries = await runQueries(deps, trigger, type, { filterOf, filters });
    }
    const renderLetter =
      type.unsubscribe === undefined || type.unsubscribe === 'none' ? renderAtOnce : renderWithLink;
    const email = await renderLetter(
      fields,
      (texts, url) => render(contextJson(deps, marked, queries, url), texts),
      unsubscribeUrlOf,
    );
    const attachments = await findAttachments(deps, trigger, type, queries, email.html);
    if (attachments.length === 0) return { kind: 'email', email, queries };
    return { kind: 'email', email: withinLimit({ ...email, attachments }), queries };
  } catch (error) {
    if (!(error instanceof EmailProblem)) throw error;
    return { kind: error.kind, failure: error.failure, queries };
  }
}

/** The address of the page on which a recipient unsubscribes, in lower case. */
export type UnsubscribeUrlOf = (address: string) => string;

type RenderTexts = (texts: readonly (EmailField | undefined)[], unsubscribeUrl?: string) => Promise<Rendered>;

async function renderAtOnce(fields: EmailFields, render: RenderTexts): Promise<Email> {
  const rendered = await render(Object.values({ ...fields, filters: [] }).flat());
  return { ...addressEmail(fields, rendered.textOf), ...readLetter(fields, rendered) };
}

/** The link is the recipient's, so the addresses are rendered first. */
async function renderWithLink(
  fields: EmailFields,
  render: RenderTexts,
  unsubscribeUrlOf: UnsubscribeUrlOf,
): Promise<Email> {
  const { sender, subject, recipients, cc, bcc, ...letter } = fields;
  const { textOf } = await render([sender, subject, recipients, cc, bcc].flat());
  const addressed = addressEmail(fields, textOf);
  const url = unsubscribeUrlOf(comparable(onlyRecipient(addressed).email));
  const read = readLetter(fields, await render(Object.values({ ...letter, filters: [] }).flat(), url));
  return {
    ...addressed,
    ...read,
    headers: { ...read.headers, ...unsubscribeHeaders(url) },
    canUnsubscribe: true,
  };
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

/**
 * The context as JSON text, assembled from JSON fragments; of duplicate names the last one wins. Throws the EmailProblem
 * of a query that failed.
 */
function contextJson(
  deps: ComposeDeps,
  trigger: EmailTrigger,
  queries: readonly QueryOutcome[],
  unsubscribeUrl?: string,
): string {
  const results = queries.map((query) => {
    if (!query.ok) throw query.problem;
    return `${JSON.stringify(query.outvar)}:${query.json}`;
  });
  const further = Object.entries(trigger.further ?? {}).map(
    ([name, value]) => `${JSON.stringify(name)}:${writeJson(value)}`,
  );
  const own = JSON.stringify({
    operation: trigger.operation,
    target: trigger.target,
    now: new Date(deps.now()).toISOString(),
    base_url: deps.baseUrl,
    unsubscribe_url: unsubscribeUrl,
  }).slice(1, -1);
  const records = `"records":{"new":${withServedNames(trigger.new)},"old":${withServedNames(trigger.old)}}`;
  const file = `"file":${fileJson(deps, trigger)}`;
  return `{${[file, ...further, ...results, records, own].join(',')}}`;
}

/** With a link that acts for the role of the trigger. */
function fileJson({ engine }: ComposeDeps, { tenantid, queryRoleid, file }: EmailTrigger): string {
  if (file == null) return 'null';
  const object = JSON.parse(file) as { readonly storagekey: string };
  return JSON.stringify({
    ...object,
    url: engine.fileLink({ tenantid, roleid: queryRoleid }, object.storagekey),
  });
}

/** Throws EmailProblem. */
function withinLimit(email: Email): Email {
  const bytes = bytesOf(email);
  if (bytes <= MAX_MAIL_BYTES) return email;
  throw new EmailProblem('failed', {
    code: 'MAIL_TOO_LARGE',
    field: 'attachments',
    message: `the mail has ${bytes} bytes with its attachments; the provider takes ${MAX_MAIL_BYTES}`,
  });
}

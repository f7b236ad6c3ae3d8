import { CONTEXT_TOO_LARGE, isContextTooLarge, readLocale, type TemplatePool } from 'rowpost-jinja2';
import type { EmailType } from '../db/email/emailTypes.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { writeJson } from '../foundation/json/losslessJson.js';
import { traced, type Span } from '../foundation/observability/tracing/tracing.js';
import { findAttachments, type AttachmentDeps } from './attachments.js';
import { intendedFields, intendedOf, readIntended } from './addressEmail.js';
import {
  EmailProblem,
  type Email,
  type EmailFailure,
  type EmailTrigger,
  type Intended,
  type QueryOutcome,
} from './email.js';
import { fieldsOf, type EmailField } from './emailFields.js';
import { bytesOf, MAX_EMAIL_BYTES } from './message/emailSize.js';
import { HeldResults } from './heldResults.js';
import { recordsForTemplates, type MarkDeps } from './templateRecords.js';
import { renderFields, renderPossible, type Rendered } from './renderFields.js';
import { renderEmail, renderWithLink } from './renderEmail.js';
import { addGraphqlNames } from './graphqlNames.js';
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

/** An email, or why there is none, with the outcomes of the queries that were run. */
export type Composed = {
  readonly queries: readonly QueryOutcome[];
  /** Undefined if not even that could be read. */
  readonly intended?: Intended | undefined;
} & (
  | { readonly kind: 'email'; readonly email: Email }
  | {
      readonly kind: EmailProblem['kind'];
      readonly failure: EmailFailure;
      readonly email?: undefined;
    }
  | {
      readonly kind: EmailProblem['kind'];
      readonly failure: EmailFailure;
      /** If only its recipients are missing: the rest of it, without attachments. */
      readonly email: Email;
    }
);

/** Operations that depend on the name of the email type. */
export interface NamedType {
  /** The URL of a recipient's unsubscribe page. @param address in lower case */
  unsubscribeUrl(address: string): string;
  /** The variant for a locale in Intl's notation; undefined if there is none. */
  variant(locale: string): Promise<EmailType | undefined>;
}

/**
 * Composes the email of a trigger: runs the type's queries with the permissions of the trigger's role, and renders every
 * text. Used by deliveries and previews alike, so that a preview is what would be sent. Rejects only for bugs and broken
 * connections.
 */
export async function composeEmail(
  given: ComposeDeps,
  trigger: EmailTrigger,
  type: EmailType,
  named: NamedType,
): Promise<Composed> {
  let queries: readonly QueryOutcome[] = [];
  let used = type;
  let marked: EmailTrigger | undefined;
  const held = new HeldResults();
  const deps = { held, ...given, templates: tracedTemplates(given.templates, trigger.span) };
  try {
    requireReadable(trigger);
    const records = await recordsForTemplates(deps, trigger);
    marked = { ...trigger, new: addGraphqlNames(records.new), old: addGraphqlNames(records.old) };
    queries = await queriesOf(deps, marked, type);
    const locale = await localeOf(deps, marked, type, queries);
    const variant = locale === undefined ? undefined : await named.variant(locale);
    if (variant) {
      held.release();
      used = variant;
      queries = await queriesOf(deps, marked, used);
    }
    const about = marked;
    const fields = fieldsOf(used);
    const render = (texts: readonly (EmailField | undefined)[], unsubscribeUrl?: string): Promise<Rendered> =>
      renderFields(
        deps.templates,
        trigger.tenantid,
        used,
        contextJson(deps, about, queries, { locale, unsubscribe_url: unsubscribeUrl }),
        texts,
      );
    const canUnsubscribe = type.unsubscribe !== undefined && type.unsubscribe !== 'none';
    const { email: rendered, recipientProblem } = canUnsubscribe
      ? await renderWithLink(fields, render, (address) => named.unsubscribeUrl(address))
      : await renderEmail(fields, render);
    const email =
      locale === undefined
        ? rendered
        : { ...rendered, headers: { 'Content-Language': locale, ...rendered.headers } };
    const intended = intendedOf(email);
    if (recipientProblem)
      return { kind: recipientProblem.kind, failure: recipientProblem.failure, queries, intended, email };
    const attachments = await findAttachments(deps, trigger, used, queries, email.html);
    if (attachments.length === 0) return { kind: 'email', email, queries, intended };
    return { kind: 'email', email: withinLimit({ ...email, attachments }), queries, intended };
  } catch (error) {
    if (!(error instanceof EmailProblem)) throw error;
    const { kind, failure } = error;
    const intended = marked && (await intendedDespite(failure, deps, marked, used, queries));
    return { kind, failure, queries, intended };
  } finally {
    held.release();
  }
}

/** Renders what a person recognizes the email by, without what failed. */
async function intendedDespite(
  { code, field: failed }: EmailFailure,
  deps: ComposeDeps,
  trigger: EmailTrigger,
  type: EmailType,
  queries: readonly QueryOutcome[],
): Promise<Intended> {
  const fields = fieldsOf(type);
  const possible = new Set(
    intendedFields(fields).filter(({ name }) => name !== failed || code !== 'TEMPLATE_FAILED'),
  );
  const context = contextJson(
    deps,
    trigger,
    queries.filter(({ ok }) => ok),
  );
  const textOf = await renderPossible(
    deps.templates,
    trigger.tenantid,
    { ...type, undefined: 'lenient' },
    context,
    [...possible],
  );
  return readIntended(fields, (field) => (possible.has(field) ? textOf(field) : undefined));
}

/** Before anything is done with a row that no template can be rendered with. Throws EmailProblem. */
function requireReadable({ new: changed, old }: EmailTrigger): void {
  if ([changed, old].every((record) => record === null || !isContextTooLarge(record))) return;
  throw new EmailProblem('failed', { code: 'TEMPLATE_FAILED', message: CONTEXT_TOO_LARGE });
}

function tracedTemplates(templates: ComposeDeps['templates'], span: Span | undefined): typeof templates {
  return span ? { render: (job) => traced(span, 'render', {}, () => templates.render(job)) } : templates;
}

/** Throws EmailProblem. */
async function queriesOf(
  deps: ComposeDeps & { readonly held: HeldResults },
  trigger: EmailTrigger,
  type: EmailType,
): Promise<readonly QueryOutcome[]> {
  if (type.queries.length === 0) return [];
  const { filters } = fieldsOf(type);
  const context = contextJson(deps, trigger, []);
  const { textOf } = await renderFields(deps.templates, trigger.tenantid, type, context, filters);
  return runQueries(deps, trigger, type, { filterOf: textOf, filters, held: deps.held });
}

/** Undefined if the type has no locale, or the data give none. Throws EmailProblem. */
async function localeOf(
  deps: ComposeDeps,
  trigger: EmailTrigger,
  type: EmailType,
  queries: readonly QueryOutcome[],
): Promise<string | undefined> {
  const { locale } = fieldsOf(type);
  if (!locale) return undefined;
  const context = contextJson(deps, trigger, queries);
  const { textOf } = await renderFields(deps.templates, trigger.tenantid, type, context, [locale]);
  return readLocale(textOf(locale));
}

/**
 * The context as JSON text, assembled from JSON fragments; of duplicate names the last one wins. Throws the EmailProblem of
 * a failed query.
 */
function contextJson(
  deps: ComposeDeps,
  trigger: EmailTrigger,
  queries: readonly QueryOutcome[],
  names: Readonly<Record<string, string | undefined>> = {},
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
    ...names,
  }).slice(1, -1);
  const records = `"records":{"new":${trigger.new},"old":${trigger.old}}`;
  const file = `"file":${fileJson(deps, trigger)}`;
  return `{${[file, ...further, ...results, records, own].join(',')}}`;
}

/** Adds a link that acts for the trigger's role. */
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
  if (bytes <= MAX_EMAIL_BYTES) return email;
  throw new EmailProblem('failed', {
    code: 'EMAIL_TOO_LARGE',
    field: 'attachments',
    message: `the email has ${bytes} bytes with its attachments; the carrier takes ${MAX_EMAIL_BYTES}`,
  });
}

import type { EmailQuery, EmailType } from '../db/delivery/emailTypes.js';
import type { LoadedDelivery } from '../db/delivery/loadDeliveries.js';
import type { Principal, PrincipalSource } from '../db/principal.js';
import { AppError } from '../errors.js';
import type { Logger } from '../log.js';
import { parseAddresses, withoutRepeats } from './addresses.js';
import type { EmailEngine } from './emailEngine.js';
import type { Address, MailMessage } from './mail/transport.js';
import type { RenderOutcome, Renderer, RenderTemplate } from './renderer.js';
import { storable } from './storableText.js';
import { isTransient } from './transientErrors.js';

export interface ComposeDeps {
  readonly engine: Pick<EmailEngine, 'runEmailQuery'>;
  readonly renderer: Renderer;
  readonly principals: Pick<PrincipalSource, 'load'>;
  readonly baseUrl: string;
  readonly now: () => number;
  readonly log: Logger;
}

/** A mail, or why there is none, in words for the author of the rule. */
export type Composed =
  | { readonly kind: 'message'; readonly message: MailMessage }
  | { readonly kind: 'failed' | 'skipped' | 'retry'; readonly code: string; readonly error: string };

/** Makes the mail of a delivery: runs the type's queries with the rights of the rule's role, and renders every text. */
export async function composeMessage(
  deps: ComposeDeps,
  delivery: LoadedDelivery,
  type: EmailType,
): Promise<Composed> {
  try {
    const queried = await runQueries(deps, delivery, type);
    const texts = await renderTexts(deps, delivery, type, queried);
    return toMessage(delivery, texts);
  } catch (error) {
    if (error instanceof Unsendable)
      return { kind: error.kind, code: error.code, error: storable(error.message) };
    if (error instanceof AppError) {
      const kind = isTransient(error) ? 'retry' : 'failed';
      return { kind, code: error.code, error: storable(error.message) };
    }
    // The database broke off, or it is a bug. Counted as an attempt, so that it ends either way.
    deps.log.error({ err: error, deliveryid: delivery.deliveryid }, 'a mail could not be composed');
    return { kind: 'retry', code: 'INTERNAL_ERROR', error: 'the mail could not be composed' };
  }
}

/** Ends the composing. It does not leave this file. */
class Unsendable extends Error {
  constructor(
    readonly kind: 'failed' | 'skipped' | 'retry',
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** @returns members of the context's JSON text: `"outvar":result,` */
async function runQueries(deps: ComposeDeps, delivery: LoadedDelivery, type: EmailType): Promise<string> {
  if (type.queries.length === 0) return '';
  const principal = await loadQueryRole(deps, delivery);
  const filters = await renderFilters(deps, delivery, type);
  const results = await Promise.all(
    type.queries.map(async (query, index) => {
      const filter = filters[index];
      try {
        return await deps.engine.runEmailQuery(principal, {
          query: query.query,
          ...(filter === undefined ? {} : { filter }),
          ...queryArguments(query),
        });
      } catch (error) {
        if (!(error instanceof AppError) || isTransient(error)) throw error;
        throw new Unsendable('failed', error.code, `query "${query.outvar}": ${error.message}`);
      }
    }),
  );
  return type.queries
    .map((query, index) => `${JSON.stringify(query.outvar)}:${results[index] ?? 'null'},`)
    .join('');
}

async function loadQueryRole(deps: ComposeDeps, delivery: LoadedDelivery): Promise<Principal> {
  const principal =
    delivery.queryRoleid === null
      ? undefined
      : await deps.principals.load(delivery.tenantid, delivery.queryRoleid);
  if (principal) return principal;
  throw new Unsendable('failed', 'QUERY_ROLE_MISSING', "the role that runs the email's queries is gone");
}

async function renderFilters(
  deps: ComposeDeps,
  delivery: LoadedDelivery,
  type: EmailType,
): Promise<readonly (string | undefined)[]> {
  const templates: RenderTemplate[] = type.queries
    .filter((query) => isTemplate(query.filter))
    .map((query) => ({
      name: `queries.${query.outvar}.filter`,
      source: query.filter ?? '',
      syntax: type.syntax,
      mode: 'filter',
    }));
  const rendered = await renderAll(deps, contextJson(deps, delivery, ''), templates);
  return type.queries.map((query) =>
    isTemplate(query.filter) ? rendered.shift() : (query.filter ?? undefined),
  );
}

function queryArguments(query: EmailQuery) {
  const ordering = typeof query.ordering === 'string' ? [query.ordering] : query.ordering;
  return {
    ...(ordering === undefined || ordering === null ? {} : { ordering }),
    ...(typeof query.limit === 'number' ? { limit: query.limit } : {}),
    ...(typeof query.offset === 'number' ? { offset: query.offset } : {}),
  };
}

interface Texts {
  readonly html: string;
  readonly subject: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly cc: readonly string[];
  readonly bcc: readonly string[];
}

/** One call for all fields, so that the context crosses to the rendering thread once. */
async function renderTexts(
  deps: ComposeDeps,
  delivery: LoadedDelivery,
  type: EmailType,
  queried: string,
): Promise<Texts> {
  const templates: RenderTemplate[] = [
    { name: 'template', source: type.template, syntax: type.syntax, mode: 'html' },
  ];
  /** @returns reads the text once all are rendered */
  const text = (name: string, source: string): (() => string) => {
    if (!isTemplate(source)) return () => source;
    const position = templates.push({
      name,
      source,
      syntax: type.syntax,
      mode: isJsonList(source) ? 'json' : 'text',
    });
    return () => rendered[position - 1] ?? '';
  };
  const list = (name: string, items: readonly string[] | string | null | undefined): (() => string[]) => {
    const readers = toList(items).map((source) => {
      const read = text(name, source);
      return () => (isJsonList(source) ? readJsonList(name, read()) : [read()]);
    });
    return () => readers.flatMap((read) => read());
  };
  const subject = text('subject', type.subject);
  const sender = text('sender', type.sender);
  const recipients = list('recipients', type.recipients);
  const cc = list('options.cc', type.options.cc);
  const bcc = list('options.bcc', type.options.bcc);
  const rendered = await renderAll(deps, contextJson(deps, delivery, queried), templates);
  return {
    html: rendered[0] ?? '',
    subject: subject(),
    sender: sender(),
    recipients: recipients(),
    cc: cc(),
    bcc: bcc(),
  };
}

async function renderAll(
  deps: ComposeDeps,
  context: string,
  templates: readonly RenderTemplate[],
): Promise<string[]> {
  if (templates.length === 0) return [];
  const outcomes = await deps.renderer.render({ contextJson: context, templates });
  return outcomes.map((outcome, index) => outputOf(outcome, templates[index]?.name ?? 'template'));
}

function outputOf(outcome: RenderOutcome, name: string): string {
  if (outcome.ok) return outcome.output;
  const { message, line, column } = outcome.error;
  throw new Unsendable('failed', 'TEMPLATE_FAILED', `${name}, line ${line}, column ${column}: ${message}`);
}

/** The context as JSON text, put together from texts that are JSON already. Our own names win over an outvar. */
function contextJson(deps: ComposeDeps, delivery: LoadedDelivery, queried: string): string {
  const own = JSON.stringify({
    operation: delivery.operation,
    target: delivery.target,
    now: new Date(deps.now()).toISOString(),
    base_url: deps.baseUrl,
  });
  return `{${queried}"records":{"new":${delivery.new ?? 'null'},"old":${delivery.old ?? 'null'}},${own.slice(1)}`;
}

function toMessage(delivery: LoadedDelivery, texts: Texts): Composed {
  const senders = parseAddresses(texts.sender);
  const [sender] = senders.valid;
  if (!sender || senders.valid.length > 1 || senders.invalid.length > 0) {
    throw new Unsendable(
      'failed',
      'SENDER_INVALID',
      `the sender is not one address: "${excerpt(texts.sender)}"`,
    );
  }
  const subject = storable(texts.subject.replace(/\s+/g, ' ').trim());
  if (subject === '') throw new Unsendable('failed', 'SUBJECT_EMPTY', 'the subject is empty');
  const invalid: string[] = [];
  const addresses = (items: readonly string[]): Address[] =>
    items.flatMap((item) => {
      const parsed = parseAddresses(item);
      invalid.push(...parsed.invalid);
      return parsed.valid;
    });
  const [recipients = [], cc = [], bcc = []] = withoutRepeats([
    addresses(texts.recipients),
    addresses(texts.cc),
    addresses(texts.bcc),
  ]);
  if (recipients.length === 0) {
    const found = invalid.length > 0 ? `; not an address: "${excerpt(invalid[0] ?? '')}"` : '';
    throw new Unsendable('skipped', 'NO_VALID_RECIPIENT', `no valid recipient${found}`);
  }
  const { tenantid, deliveryid } = delivery;
  return {
    kind: 'message',
    message: { tenantid, deliveryid, sender, recipients, cc, bcc, subject, html: storable(texts.html) },
  };
}

const MOST_EXCERPT_CHARACTERS = 80;
const excerpt = (text: string): string => text.trim().slice(0, MOST_EXCERPT_CHARACTERS);

/** Whether a text holds anything to render, in either syntax. */
function isTemplate(text: string | null | undefined): boolean {
  return text !== null && text !== undefined && /\{[{%#]/.test(text);
}

function isJsonList(source: string): boolean {
  return source.trimStart().startsWith('[');
}

function toList(items: readonly string[] | string | null | undefined): readonly string[] {
  if (items === null || items === undefined) return [];
  return typeof items === 'string' ? [items] : items;
}

function readJsonList(name: string, text: string): string[] {
  try {
    const list: unknown = JSON.parse(text);
    if (Array.isArray(list)) return list.filter((item) => typeof item === 'string');
  } catch {
    // Said below, in words for the author.
  }
  throw new Unsendable(
    'failed',
    'RECIPIENTS_INVALID',
    `${name} is not a JSON list of addresses: "${excerpt(text)}"`,
  );
}

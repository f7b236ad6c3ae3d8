import { writeJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { literal, type Search } from './deliveryFilter.js';
import { searchDeliveries } from './deliverySearch.js';
import type { DeliveryRow } from './deliveryView.js';
import type { Visit } from './pageHandlers.js';

/** The rows of a list as cells of a CSV file, a part at a time, each found by where the last one ended. */
export interface ExportedList {
  /** Fields of the list, in the words of the API. */
  readonly columns: readonly string[];
  readonly parts: AsyncGenerator<readonly (readonly string[])[], void>;
}

/** Where lists are read from, as the role may read them. */
interface Source {
  readonly query: Visit['query'];
  /** The setting. */
  readonly listMaxLimit: number;
}

/** Rows in memory at a time, at most. */
const PART = 500;

const DELIVERY = [
  'deliveryid',
  'createtime',
  'status',
  'email_type',
  'ruleid',
  'target',
  'key',
  'operation',
  'intended_recipients',
  'subject',
  'attempts',
  'sent_time',
  'next_attempt',
  'error_code',
  'error',
];
const SUPPRESSED = ['address', 'source', 'createtime', 'reason', 'deliveryid'];
const UNSUBSCRIBED = ['address', 'source', 'createtime', 'email_types', 'all_types'];
const AUDIT = [
  'eventid',
  'time',
  'roleid',
  'login',
  'actors',
  'keyid',
  'object',
  'key',
  'operation',
  'changes',
];

/** What the page of deliveries lists, the newest first. */
export function exportedDeliveries(from: Source, search: Search): ExportedList {
  return exported(DELIVERY, foundDeliveries(from, search));
}

/** Those that are given. */
export function selectedDeliveries(rows: readonly DeliveryRow[]): ExportedList {
  return exported(DELIVERY, [rows]);
}

/** A list of addresses that get no email. */
export function exportedAddresses(
  from: Source,
  list: 'suppressed' | 'unsubscribed',
  filter: string,
): ExportedList {
  const [object, columns] =
    list === 'suppressed' ? ['email_suppression', SUPPRESSED] : ['email_unsubscribe', UNSUBSCRIBED];
  const document = documentOf(object, columns, '["address"]');
  const after = ({ address }: { readonly address: string }): string => `address > ${literal(address)}`;
  return exported(columns, pagesOf(from, document, filter, after));
}

/** What the page of the audit log lists. */
export function exportedAudit(from: Source, filter: string): ExportedList {
  const document = documentOf('audit_event', AUDIT, '["time desc", "eventid"]');
  return exported(AUDIT, pagesOf<AuditEvent>(from, document, filter, afterEvent));
}

interface AuditEvent {
  readonly eventid: string;
  readonly time: string;
}

/** The first condition is what an index of times finds. */
function afterEvent({ time, eventid }: AuditEvent): string {
  const at = literal(time);
  return `time <= ${at} and (time < ${at} or eventid > ${literal(eventid)})`;
}

async function* foundDeliveries(
  { query, listMaxLimit }: Source,
  search: Search,
): AsyncGenerator<readonly DeliveryRow[], void> {
  const limit = Math.min(PART, listMaxLimit);
  for (let below: string | undefined, isDone = false; !isDone;) {
    const { rows, searched } = await searchDeliveries(query, search, { below, limit, listMaxLimit });
    yield rows;
    below = rows.length === limit ? rows.at(-1)?.deliveryid : searched?.end;
    isDone = below === undefined;
  }
}

function documentOf(object: string, columns: readonly string[], ordering: string): string {
  return `query ($filter: String, $limit: Int) {
    rows: ${object}(filter: $filter, ordering: ${ordering}, limit: $limit) { ${columns.join(' ')} }
  }`;
}

async function* pagesOf<Row>(
  { query, listMaxLimit }: Source,
  document: string,
  filter: string,
  after: (row: Row) => string,
): AsyncGenerator<readonly Row[], void> {
  const limit = Math.min(PART, listMaxLimit);
  for (let last: Row | undefined, isDone = false; !isDone;) {
    const conditions = [...(filter === '' ? [] : [`(${filter})`]), ...(last ? [after(last)] : [])];
    const variables = { filter: conditions.join(' and '), limit };
    const { rows } = await query<{ rows: readonly Row[] }>(document, variables);
    yield rows;
    last = rows.at(-1);
    isDone = rows.length < limit;
  }
}

function exported(
  columns: readonly string[],
  pages: AsyncIterable<readonly object[]> | Iterable<readonly object[]>,
): ExportedList {
  async function* cells(): ExportedList['parts'] {
    for await (const rows of pages)
      yield rows.map((row) =>
        columns.map((column) => cellOf(ownValue(row as Readonly<Record<string, unknown>>, column))),
      );
  }
  return { columns, parts: cells() };
}

/** A list of texts or numbers is one text; what has members is JSON. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (typeof value === 'string') return value;
  if (Array.isArray(value) && value.every((item) => typeof item !== 'object')) return value.join('; ');
  return writeJson(value);
}

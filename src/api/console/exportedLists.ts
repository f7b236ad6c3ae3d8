import { writeJson } from '../../foundation/json/losslessJson.js';
import { literal, type Search } from './deliveryFilter.js';
import { searchDeliveries } from './deliverySearch.js';
import type { DeliveryRow } from './deliveryView.js';
import type { Visit } from './pageHandlers.js';

type Cell = string | number | null | undefined;

/** The rows of a list as cells of a CSV file, a part at a time, each found by where the last one ended. */
export interface ExportedList {
  readonly columns: readonly string[];
  readonly parts: AsyncGenerator<readonly (readonly Cell[])[], void>;
}

/** Where lists are read from, as the role may read them. */
interface Source {
  readonly query: Visit['query'];
  /** The setting. */
  readonly listMaxLimit: number;
}

/** Rows in memory at a time, at most. */
const PART = 500;

/** What the page of deliveries lists, the newest first. */
export function exportedDeliveries(from: Source, search: Search): ExportedList {
  const parts = foundDeliveries(from, search);
  return { columns: DELIVERY_COLUMNS, parts: cellsOf(parts, deliveryCells) };
}

/** Those that are given. */
export function selectedDeliveries(rows: readonly DeliveryRow[]): ExportedList {
  return { columns: DELIVERY_COLUMNS, parts: cellsOf([rows], deliveryCells) };
}

const DELIVERY_COLUMNS = [
  'deliveryid',
  'createtime',
  'status',
  'email_type',
  'ruleid',
  'target',
  'key',
  'operation',
  'recipients',
  'subject',
  'attempts',
  'sent_time',
  'next_attempt',
  'error_code',
  'error',
];

type ListedDelivery = DeliveryRow & {
  readonly attempts: number;
  readonly sent_time: string | null;
  readonly error: string | null;
};

function deliveryCells(row: DeliveryRow): readonly Cell[] {
  const { attempts, sent_time, error } = row as ListedDelivery;
  return [
    row.deliveryid,
    row.createtime,
    row.status,
    row.email_type,
    row.ruleid,
    row.target,
    writeJson(row.key),
    row.operation,
    (row.intended_recipients ?? []).join('; '),
    row.subject,
    attempts,
    sent_time,
    row.next_attempt,
    row.error_code,
    error,
  ];
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

const SUPPRESSED = `query ($filter: String, $limit: Int) {
  rows: email_suppression(filter: $filter, ordering: ["address"], limit: $limit) { address reason source deliveryid createtime }
}`;
const UNSUBSCRIBED = `query ($filter: String, $limit: Int) {
  rows: email_unsubscribe(filter: $filter, ordering: ["address"], limit: $limit) { address email_types all_types source createtime }
}`;

interface Address {
  readonly address: string;
  readonly source: string;
  readonly createtime: string;
}

/** A list of addresses that get no email. */
export function exportedAddresses(
  from: Source,
  list: 'suppressed' | 'unsubscribed',
  filter: string,
): ExportedList {
  if (list === 'suppressed') {
    type Suppressed = Address & { readonly reason: string | null; readonly deliveryid: string | null };
    return {
      columns: ['address', 'source', 'createtime', 'reason', 'deliveryid'],
      parts: cellsOf(
        pagesOf<Suppressed>(from, SUPPRESSED, filter, afterAddress),
        ({ address, source, createtime, reason, deliveryid }) => [
          address,
          source,
          createtime,
          reason,
          deliveryid,
        ],
      ),
    };
  }
  type Unsubscribed = Address & { readonly email_types: readonly string[]; readonly all_types: boolean };
  return {
    columns: ['address', 'source', 'createtime', 'email_types', 'all_types'],
    parts: cellsOf(
      pagesOf<Unsubscribed>(from, UNSUBSCRIBED, filter, afterAddress),
      ({ address, source, createtime, email_types, all_types }) => [
        address,
        source,
        createtime,
        email_types.join('; '),
        String(all_types),
      ],
    ),
  };
}

function afterAddress({ address }: Address): string {
  return `address > ${literal(address)}`;
}

const AUDIT = `query ($filter: String, $limit: Int) {
  rows: audit_event(filter: $filter, ordering: ["time desc", "eventid"], limit: $limit) {
    eventid time roleid login actors keyid object key operation changes
  }
}`;

interface AuditEvent {
  readonly eventid: string;
  readonly time: string;
  readonly roleid: number;
  readonly login: string | null;
  readonly actors: readonly number[];
  readonly keyid: string | null;
  readonly object: string;
  readonly key: string | null;
  readonly operation: string;
  readonly changes: unknown;
}

/** What the page of the audit log lists. */
export function exportedAudit(from: Source, filter: string): ExportedList {
  return {
    columns: [
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
    ],
    parts: cellsOf(pagesOf<AuditEvent>(from, AUDIT, filter, afterEvent), (event) => [
      event.eventid,
      event.time,
      event.roleid,
      event.login,
      event.actors.join(' '),
      event.keyid,
      event.object,
      event.key,
      event.operation,
      writeJson(event.changes),
    ]),
  };
}

/** The first condition is what an index of times finds. */
function afterEvent({ time, eventid }: AuditEvent): string {
  const at = literal(time);
  return `time <= ${at} and (time < ${at} or eventid > ${literal(eventid)})`;
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

async function* cellsOf<Row>(
  pages: AsyncIterable<readonly Row[]> | Iterable<readonly Row[]>,
  toCells: (row: Row) => readonly Cell[],
): ExportedList['parts'] {
  for await (const rows of pages) yield rows.map(toCells);
}

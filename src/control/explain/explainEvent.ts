import type { Table } from '../../db/catalog/catalog.js';
import { readCapture, type Writers } from '../../db/capture/capture.js';
import type { Database } from '../../db/pool/database.js';
import {
  readRowHistory,
  type RowDelivery,
  type RowEvent,
  type RowHistory,
  type TenantRule,
} from '../../db/outbox/eventsOfRow.js';
import { evaluateCondition, type ConditionResult } from '../../email/evaluateCondition.js';
import type { DataEngine } from '../../graphql/dataEngine.js';
import type { Steps } from '../../graphql/steps.js';
import { unknownTable } from '../../graphql/unknownTable.js';
import { isWritable } from '../../graphql/write/writable.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import { factsOf, readRecords, type ConditionFacts } from './conditionValues.js';
import { readEventKey } from './readEventKey.js';
import { dependsOnCondition, explainDeletedRule, explainRule, type ExplainedRule } from './explainRule.js';

export interface ExplainDeps {
  readonly database: Database;
  readonly engine: Pick<DataEngine, 'catalog' | 'evaluateCondition'>;
  readonly retentionDays: number;
  /** Runs what takes CPU time, in steps. */
  readonly inSteps: <T>(steps: Steps<T>) => Promise<T>;
  /** Runs the search, which holds a connection of the service for seconds. */
  readonly search: <T>(work: () => Promise<T>) => Promise<T>;
}

export interface RowQuestion {
  readonly tenantid: number;
  readonly schema: string;
  /** The table. */
  readonly target: string;
  /** An object by column name, or the value of a single-column key. */
  readonly key: unknown;
}

export interface ExplainedEvent extends RowEvent {
  readonly rules: readonly ExplainedRule[];
}

export interface Explanation {
  readonly target: string;
  /** As in the row's events; null if there can't be any. */
  readonly key: unknown;
  /** Whose changes become events; null for a read-only table. */
  readonly writers: Writers | null;
  readonly row_exists: boolean | null;
  readonly retention_days: number;
  /** Messages about why events may be missing. */
  readonly notes: readonly string[];
  /** Newest first. */
  readonly events: readonly ExplainedEvent[];
  readonly has_more: boolean;
  readonly searched_since: string | null;
}

const LIMITS = { events: 10, rules: 200, searchMs: 5_000 };
/** For the conditions of all rules together. One may exceed it, by as long as it may take in a worker. */
const CONDITIONS_MS = 10_000;

/**
 * Explains what became of a row's changes, and why nothing did. Read-only; evaluates conditions with the worker's own code
 * and permissions. Throws AppError UNKNOWN_TABLE, BAD_USER_INPUT for an invalid key, or an error if the database is busy.
 */
export async function explainEvent(
  { database, engine, retentionDays, search, inSteps }: ExplainDeps,
  question: RowQuestion,
): Promise<Explanation> {
  const { tenantid, schema, target } = question;
  const catalog = await engine.catalog(tenantid, schema);
  const table = catalog.tables.get(target);
  if (!table) throw unknownTable(catalog, target, { field: 'target' });
  const nothing = {
    target,
    retention_days: retentionDays,
    events: [],
    has_more: false,
    searched_since: null,
  } as const;
  if (table.kind === 'view' || table.primaryKey.length === 0) {
    return { ...nothing, key: null, writers: null, row_exists: null, notes: [readOnlyNote(table)] };
  }
  const { key, exists } = await readEventKey(database, tenantid, table, question.key);
  // Sequential, because the service's connections are few.
  const capture = await readCapture(database.pool, tenantid, table);
  const history = await search(() => readRowHistory(database.pool, { tenantid, target, key }, LIMITS));
  const where = { tenantid, schema, table };
  const conditionResults = await evaluateConditions(engine, where, history);
  const events = await inSteps(explainEvents(table, history, conditionResults));
  const notes = [
    ...captureNotes(table, tenantid, capture),
    ...historyNotes(history, { target, exists, retentionDays }),
  ];
  return {
    target,
    key: parseJson(key),
    writers: capture.writers,
    row_exists: exists,
    retention_days: retentionDays,
    notes,
    events,
    has_more: history.hasMore,
    searched_since: history.searchedSince,
  };
}

/** Rules may have long conditions, each of which is parsed. */
function* explainEvents(
  table: Table,
  { events, rules, deliveries }: RowHistory,
  conditionResults: ReadonlyMap<string, ConditionResult>,
): Steps<readonly ExplainedEvent[]> {
  const deliveryOf = deliveriesByPair(deliveries);
  const withFacts: { readonly rule: TenantRule; readonly facts: ConditionFacts }[] = [];
  for (const rule of events.length === 0 ? [] : rules) {
    yield;
    withFacts.push({ rule, facts: factsOf(rule, table) });
  }
  const known = new Set(rules.map(({ ruleid }) => ruleid));
  const explainedEvents: ExplainedEvent[] = [];
  for (const event of events) {
    yield;
    const records = readRecords(event);
    const explained: ExplainedRule[] = [];
    for (const { rule, facts } of withFacts) {
      yield;
      const pair = pairOf(event.eventid, rule.ruleid);
      const evidence = {
        delivery: deliveryOf.get(pair),
        conditionResult: conditionResults.get(pair),
        facts,
        records,
      };
      explained.push(explainRule(rule, { ...event, target: table.name }, evidence));
    }
    const others = deliveries.filter(
      ({ eventid, ruleid }) => eventid === event.eventid && !known.has(ruleid),
    );
    explainedEvents.push({ ...event, rules: [...explained, ...others.map(explainDeletedRule)] });
  }
  return explainedEvents;
}

function deliveriesByPair(deliveries: readonly RowDelivery[]): ReadonlyMap<string, RowDelivery> {
  return new Map(deliveries.map((made) => [pairOf(made.eventid, made.ruleid), made]));
}

const pairOf = (eventid: string, ruleid: string): string => `${eventid} ${ruleid}`;

/** Evaluates conditions whose outcome can't be seen from deliveries: one statement per rule, for all events. */
async function evaluateConditions(
  engine: ExplainDeps['engine'],
  { tenantid, schema, table }: { readonly tenantid: number; readonly schema: string; readonly table: Table },
  { events, rules, deliveries }: RowHistory,
): Promise<ReadonlyMap<string, ConditionResult>> {
  const deliveryOf = deliveriesByPair(deliveries);
  const target = table.name;
  const endMs = performance.now() + CONDITIONS_MS;
  const conditionResults = new Map<string, ConditionResult>();
  for (const rule of rules) {
    const { ruleid, condition } = rule;
    if (condition === null) continue;
    if (performance.now() > endMs) break;
    const open = events.filter(
      (event) =>
        !deliveryOf.has(pairOf(event.eventid, ruleid)) && dependsOnCondition(rule, { ...event, target }),
    );
    const results = await evaluateCondition(engine, { tenantid, schema, target, condition }, open);
    results.forEach((conditionResult, index) => {
      conditionResults.set(pairOf(open[index]?.eventid ?? '', ruleid), conditionResult);
    });
  }
  return conditionResults;
}

function readOnlyNote({ name, kind }: Table): string {
  return kind === 'view'
    ? `${name} is a view: nothing is written to it, so it has no events. Query the tables that it reads.`
    : `${name} has no primary key: it is read-only here, and has no events.`;
}

function captureNotes(
  table: Table,
  tenantid: number,
  { writers, problems }: Awaited<ReturnType<typeof readCapture>>,
): readonly string[] {
  if (writers === 'all') return problems;
  const who = isWritable(table)
    ? 'Only mutations at /query are captured; changes made with SQL are not.'
    : "Nothing is captured, because mutations at /query can't write to the table.";
  return [
    `${who} To capture every writer from now on: set_capture(table_name: "${table.name}", writers: all), or rowpost tenant capture --tenant ${tenantid} --table ${table.name} --writers all.`,
  ];
}

function historyNotes(
  { events, rules, rulesLeftOut, hasMore, searchedSince }: RowHistory,
  row: { readonly target: string; readonly exists: boolean; readonly retentionDays: number },
): readonly string[] {
  const notes: string[] = [];
  if (events.length === 0) {
    if (!row.exists) notes.push(`${row.target} has no row with this key now.`);
    notes.push(
      `No change to this row is recorded. Changes are kept for ${row.retentionDays} days (RETENTION_DAYS), whether a rule matched or not; older ones are gone, and those before the table was captured were never recorded.`,
    );
  }
  if (!hasMore && searchedSince !== null) notes.push(`Only changes since ${searchedSince} were searched.`);
  if (rules.length === 0) notes.push('The tenant has no email rule.');
  if (rulesLeftOut > 0) notes.push(`${rulesLeftOut} more rules are not listed.`);
  return notes;
}

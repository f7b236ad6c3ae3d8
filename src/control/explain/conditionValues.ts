import type { Table } from '../../db/catalog/catalog.js';
import type { RowEvent } from '../../db/outbox/eventsOfRow.js';
import { AppError } from '../../foundation/errors.js';
import { requireSatisfiable } from '../../graphql/email/satisfiable.js';
import { parseFilter } from '../../graphql/filter/syntax/parser.js';
import { withNullTest } from '../../graphql/filter/syntax/rewrite.js';
import type { FilterNode } from '../../graphql/filter/syntax/tree.js';
import { partsOf, pathsOf } from '../../graphql/filter/syntax/walk.js';
import { isJsonObject, parseJson, textOfValue } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';

/** A value of the row that a condition refers to. */
export interface SeenValue {
  readonly name: string;
  readonly value: unknown;
}

/** What is known about a rule's condition without reading a row; computed once for all events. */
export interface ConditionFacts {
  /** Columns that it refers to, with their record; columns behind relations are not recorded in events. */
  readonly columns: readonly {
    readonly record: 'new' | 'old';
    readonly name: string;
    readonly sqlName: string;
  }[];
  /** What it reads through relations: events don't record other rows. */
  readonly related: readonly string[];
  /** What it says to be unlike something, which is not true of a null. */
  readonly unlike: readonly string[];
  /** Why it can never hold; only for rules saved before such conditions were rejected. */
  readonly neverHolds: string | undefined;
}

/** Nothing is known about a condition that does not parse; evaluating it reports the error. */
export function factsOf(
  { condition, operations }: { readonly condition: string | null; readonly operations: readonly string[] },
  table: Table,
): ConditionFacts {
  if (condition === null) return NOTHING;
  try {
    return { ...readBy(condition, table), neverHolds: neverHolds(condition, operations) };
  } catch (error) {
    if (error instanceof AppError) return NOTHING;
    throw error;
  }
}

const NOTHING: ConditionFacts = { columns: [], related: [], unlike: [], neverHolds: undefined };

function readBy(condition: string, table: Table): Omit<ConditionFacts, 'neverHolds'> {
  const { tree } = parseFilter(condition);
  const found = new Map<string, ConditionFacts['columns'][number]>();
  const related = new Set<string>();
  for (const { names } of pathsOf(tree)) {
    const [record, name = '', ...further] = names;
    if (record !== 'new' && record !== 'old') continue;
    if (further.length > 0) related.add(names.join('.'));
    const column = table.columns.get(name);
    if (!column || further.length > 0) continue;
    found.set(`${record}.${name}`, { record, name, sqlName: column.sqlName });
  }
  return { columns: [...found.values()], related: [...related], unlike: unlikeIn(tree, false) };
}

/** Names of what is compared by `!=`, `not in` and the like, or within `not`. */
function unlikeIn(node: FilterNode, isNegated: boolean): readonly string[] {
  const tested = withNullTest(node);
  if (tested.kind === 'is' || tested.kind === 'distinct') return [];
  if (tested.kind === 'not') return unlikeIn(tested.operand, !isNegated);
  const parts = partsOf(tested);
  if (tested.kind === 'and' || tested.kind === 'or')
    return parts.flatMap((part) => unlikeIn(part, isNegated));
  const isUnlike =
    tested.kind === 'compare' ? tested.operator === '!=' : 'negated' in tested && tested.negated;
  return isUnlike !== isNegated ? pathsOf(tested).map(({ names }) => names.join('.')) : [];
}

function neverHolds(condition: string, operations: readonly string[]): string | undefined {
  try {
    requireSatisfiable(condition, operations);
    return undefined;
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
}

/** The row before and after an event; undefined if there is none or it is too large. */
export interface ShownRecords {
  readonly new: Readonly<Record<string, unknown>> | undefined;
  readonly old: Readonly<Record<string, unknown>> | undefined;
  /** Large ones are skipped: parsing them would block the event loop. */
  readonly isLarge: boolean;
}

const MAX_RECORD_CHARACTERS = 200_000;
const MAX_VALUE_CHARACTERS = 200;

export function readRecords(event: Pick<RowEvent, 'new' | 'old' | 'isTooLarge'>): ShownRecords {
  const characters = (event.new?.length ?? 0) + (event.old?.length ?? 0);
  if (event.isTooLarge || characters > MAX_RECORD_CHARACTERS) {
    return { new: undefined, old: undefined, isLarge: true };
  }
  return { new: readRecord(event.new), old: readRecord(event.old), isLarge: false };
}

function readRecord(text: string | null): Readonly<Record<string, unknown>> | undefined {
  const record: unknown = text === null ? null : parseJson(text);
  return isJsonObject(record) ? record : undefined;
}

/** The values the condition saw, as far as they can be shown. */
export function valuesSeen({ columns }: ConditionFacts, records: ShownRecords): readonly SeenValue[] {
  if (records.isLarge) return [];
  return columns.map(({ record, name, sqlName }) => {
    const row = records[record];
    const value = row ? (ownValue(row, sqlName) ?? null) : null;
    return { name: `${record}.${name}`, value: shortened(value) };
  });
}

function shortened(value: unknown): unknown {
  const text = textOfValue(value);
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : value;
}

import type { Catalog, Column, Table } from '../../db/catalog/catalog.js';
import { recordOf } from '../../db/catalog/types.js';
import {
  boundStatement,
  bytesOfStatement,
  compiledStatement,
  type CompiledStatement,
} from '../../db/pool/compiledStatement.js';
import { identifier, param, sql, type Inputs, type Slot, type Sql } from '../../db/sql/sql.js';
import type { TransactionOutcome, Transactions } from '../../db/pool/transactions.js';
import { isServerError, isSessionEnd, isStaleSchema } from '../../db/sql/sqlState.js';
import { AppError, type ErrorCode } from '../../foundation/errors.js';
import { compileCondition } from '../filter/compile.js';
import { parseFilter } from '../filter/syntax/parser.js';
import { createAliasSource } from '../filter/rows/scope.js';
import { readError } from '../filter/valueError.js';
import { unrestricted } from '../policy/policy.js';
import { FairCache } from '../../foundation/limits/fairCache.js';
import { unknownTable } from '../unknownTable.js';
import { columnsRead, withColumns, type RecordName } from './recordColumns.js';

/** An event's row before and after the change, as JSON texts. */
export interface EventRecords {
  readonly old: string | null;
  readonly new: string | null;
}

/** Memory for compiled conditions. */
const CACHED_BYTES = 80_000_000;
/**
 * After a statement over many events has failed, they are retried in groups of this size, then one by one. If all of a
 * hundred events fail, this takes 111 statements and evaluates each event three times; bisecting would take twice the
 * statements and evaluate each event seven times.
 */
const RETRY_GROUP_SIZE = 10;
/**
 * Maximum timeouts in one batch; after that, the remaining events fail too. Three are enough to find one slow event, five
 * to find two; if all are slow, a batch occupies its worker's slot for minutes instead of half an hour.
 */
const MAX_TIMEOUTS = 8;

/** Conditions of email rules, compiled once per version of the tables. */
export class Conditions {
  readonly #compiled = new FairCache<CompiledCondition>(CACHED_BYTES);

  constructor(private readonly transactions: Transactions) {}

  /** Throws AppError UNKNOWN_TABLE, FILTER_* when the condition does not fit the table. */
  check(tenantid: number, catalog: Catalog, target: string, condition: string): void {
    // Binding checks literals against their columns.
    const compiled = this.#compile(tenantid, catalog, target, condition);
    boundStatement(compiled.statement, inputsFor(compiled, []));
  }

  /**
   * Uses one statement for all events; if that fails, they are evaluated separately, so that one bad row doesn't fail the
   * others. Relations are read in their current state. Throws AppError if the condition does not compile against the
   * table, or the database is unavailable.
   */
  async evaluate(
    tenantid: number,
    catalog: Catalog,
    target: string,
    condition: string,
    events: readonly EventRecords[],
  ): Promise<(boolean | AppError)[]> {
    if (events.length === 0) return [];
    const compiled = this.#compile(tenantid, catalog, target, condition);
    return this.#evaluate(tenantid, compiled, events, { timeouts: 0 });
  }

  async #evaluate(
    tenantid: number,
    compiled: CompiledCondition,
    events: readonly EventRecords[],
    spent: { timeouts: number; error?: AppError },
  ): Promise<(boolean | AppError)[]> {
    const { error } = spent;
    if (error) return events.map(() => error);
    const inputs = inputsFor(compiled, events);
    const statements = [boundStatement(compiled.statement, inputs)];
    const outcome = await this.transactions.run({ tenantid, mode: 'read', statements });
    if (outcome.kind === 'done') return JSON.parse(outcome.results[0]?.[0]?.[0] ?? '[]') as boolean[];
    const failure = readError(outcome.error, { slots: compiled.statement.slots, inputs, seesAll: true });
    if (isLost(outcome)) throw new EvaluationLost(failure);
    if (!isCausedByOneEvent(outcome)) throw failure;
    if (OUT_OF_TIME.has(outcome.error.code) && ++spent.timeouts >= MAX_TIMEOUTS) spent.error = failure;
    if (events.length === 1 || spent.error) return events.map(() => failure);
    const size = events.length > RETRY_GROUP_SIZE ? RETRY_GROUP_SIZE : 1;
    const results: (boolean | AppError)[] = [];
    for (let start = 0; start < events.length; start += size) {
      results.push(...(await this.#evaluate(tenantid, compiled, events.slice(start, start + size), spent)));
    }
    return results;
  }

  #compile(tenantid: number, catalog: Catalog, target: string, condition: string): CompiledCondition {
    const key = `${tenantid} ${catalog.version} ${target} ${condition}`;
    const known = this.#compiled.get(key);
    if (known) return known;
    const table = catalog.tables.get(target);
    if (!table) throw unknownTable(catalog, target, { table: target });
    const compiled = compile(catalog, table, condition);
    this.#compiled.set(
      key,
      compiled,
      2 * key.length + bytesOfStatement(compiled.statement),
      String(tenantid),
    );
    return compiled;
  }
}

/** Its session ended meanwhile, or the server. Perhaps by chance, perhaps because of what the condition calls or reads. */
export class EvaluationLost extends AppError {
  constructor({ code, message, cause }: AppError) {
    super(code, message, { cause });
  }
}

/** What an outcome says of a failure. */
type Failed = Extract<TransactionOutcome, { kind: 'failed' }>;

function isLost({ error: { code, cause }, statement }: Failed): boolean {
  if (code !== 'DATABASE_UNAVAILABLE' || statement === undefined) return false;
  return !isServerError(cause) || isSessionEnd(cause);
}

const OUT_OF_TIME: ReadonlySet<ErrorCode> = new Set(['STATEMENT_TIMEOUT', 'REQUEST_TIMEOUT']);

/** Whether a single event may be the cause: not if the database is unavailable or the tables have changed. */
function isCausedByOneEvent({ error, statement }: Failed): boolean {
  if (OUT_OF_TIME.has(error.code)) return true;
  return statement !== undefined && error.code !== 'DATABASE_UNAVAILABLE' && !isStaleSchema(error);
}

interface CompiledCondition {
  readonly statement: CompiledStatement;
  /** The columns that it reads. */
  readonly columns: Readonly<Record<RecordName, readonly Column[]>>;
}

function compile(catalog: Catalog, table: Table, condition: string): CompiledCondition {
  const parsed = parseFilter(condition);
  const holds = compileCondition(parsed, {
    catalog,
    table,
    access: unrestricted.access,
    aliases: createAliasSource(),
    filterVariable: undefined,
  });
  const columns = {
    old: columnsRead(parsed.tree, table, 'old'),
    new: columnsRead(parsed.tree, table, 'new'),
  };
  const records = (which: RecordName): Sql => {
    const slot: Slot = (inputs) => inputs.variables[which];
    return sql`pg_catalog.unnest(${param(slot, 'json[]')})`;
  };
  const record = (which: RecordName): Sql =>
    columns[which].length === 0
      ? sql``
      : sql`, lateral ${recordOf(columns[which], identifier('event', which), identifier(`${which}_row`))}`;
  // An absent record is a row of nulls.
  const statement = compiledStatement(sql`
    select pg_catalog.json_agg(coalesce(${holds}, false) order by event.n)::pg_catalog.text
    from rows from (${records('old')}, ${records('new')}) with ordinality event(old, new, n)${record('old')}${record('new')}`);
  return { statement, columns };
}

/** Conditions have no caller: `$_PRINCIPAL` is null in them. */
function inputsFor({ columns }: CompiledCondition, events: readonly EventRecords[]): Inputs {
  return {
    variables: {
      old: events.map((event) => withColumns(event.old, columns.old)),
      new: events.map((event) => withColumns(event.new, columns.new)),
    },
    principal: {},
  };
}

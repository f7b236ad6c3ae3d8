import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { preparedText, type PreparedText } from '../../db/preparedStatements.js';
import { bind, identifier, param, sql, toStatement, type Inputs, type Slot } from '../../db/sql.js';
import { tenantRole, type Transactions } from '../../db/tenantTransaction.js';
import { AppError } from '../../errors.js';
import { compileCondition } from '../filter/compile.js';
import { parseFilter } from '../filter/parser.js';
import { createAliasSource } from '../filter/scope.js';
import { readError } from '../filter/valueError.js';
import { LruCache } from '../lruCache.js';
import { unrestricted } from '../policy/policy.js';

/** The row of an event before and after, as JSON texts. */
export interface EventRecords {
  readonly old: string | null;
  readonly new: string | null;
}

interface Compiled {
  readonly statement: PreparedText;
  readonly slots: readonly Slot[];
}

const MOST_CONDITIONS = 1_000;

/** Conditions of email rules, compiled once for each version of the tables. */
export class Conditions {
  readonly #compiled = new LruCache<Compiled>(MOST_CONDITIONS);

  constructor(private readonly transactions: Transactions) {}

  /** Throws AppError UNKNOWN_TABLE, FILTER_* when the condition does not fit the table. */
  check(tenantid: number, catalog: Catalog, target: string, condition: string): void {
    const { statement, slots } = this.#compile(tenantid, catalog, target, condition);
    // Literals that don't fit their column are told when values are bound.
    bind({ text: statement.text, slots }, inputsFor([]));
  }

  /** For each event whether the condition holds, in one statement; relations are read as they are now. */
  async evaluate(
    tenantid: number,
    catalog: Catalog,
    target: string,
    condition: string,
    events: readonly EventRecords[],
  ): Promise<boolean[]> {
    if (events.length === 0) return [];
    const { statement, slots } = this.#compile(tenantid, catalog, target, condition);
    const values = bind({ text: statement.text, slots }, inputsFor(events));
    const outcome = await this.transactions.run({
      role: tenantRole(tenantid),
      mode: 'read',
      statements: [{ statement, values }],
    });
    if (outcome.kind === 'failed') throw readError(outcome.error);
    return JSON.parse(outcome.results[0]?.[0]?.[0] ?? '[]') as boolean[];
  }

  #compile(tenantid: number, catalog: Catalog, target: string, condition: string): Compiled {
    const key = `${tenantid} ${catalog.version} ${target} ${condition}`;
    const known = this.#compiled.get(key);
    if (known) return known;
    const table = catalog.tables.get(target);
    if (!table)
      throw new AppError('UNKNOWN_TABLE', `There is no table ${target}.`, { details: { table: target } });
    const compiled = compile(catalog, table, condition);
    this.#compiled.set(key, compiled);
    return compiled;
  }
}

function compile(catalog: Catalog, table: Table, condition: string): Compiled {
  const holds = compileCondition(parseFilter(condition), {
    catalog,
    table,
    access: unrestricted.access,
    aliases: createAliasSource(),
    filterIndex: 'fixed',
  });
  const row = identifier(table.schema, table.sqlName);
  const records =
    (which: keyof EventRecords): Slot =>
    (inputs) =>
      inputs.variables[which];
  // An absent record is a row of nulls.
  const { text, slots } = toStatement(sql`
    select json_agg(coalesce(${holds}, false) order by event.n)::text
    from unnest(${param(records('old'), 'json[]')}, ${param(records('new'), 'json[]')}) with ordinality event(o, c, n),
      lateral json_populate_record(null::${row}, event.o) old_row,
      lateral json_populate_record(null::${row}, event.c) new_row`);
  return { statement: preparedText(text), slots };
}

/** Conditions know no caller: `$_PRINCIPAL` is null in them. */
function inputsFor(events: readonly EventRecords[]): Inputs {
  return {
    variables: { old: events.map((event) => event.old), new: events.map((event) => event.new) },
    literals: [],
    principal: {},
  };
}

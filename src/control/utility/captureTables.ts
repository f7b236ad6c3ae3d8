import { GraphQLEnumType, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import type { Writers } from '../../db/capture/capture.js';
import { captureTables, type CapturedTable, type ManyTables } from '../../db/capture/captureTables.js';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import type { Database } from '../../db/pool/database.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { recordChange } from '../audit/recordChange.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireKnownTables } from '../derive/references.js';
import { lockTenant } from '../lockTenant.js';
import { requireTenantAdmin } from '../permissions.js';
import { requireOnlyMutation } from '../request/externalCalls.js';
import { writersType } from './capture.js';

const text = { type: new GraphQLNonNull(GraphQLString) };
const names = new GraphQLList(new GraphQLNonNull(GraphQLString));

const capturedTableType = new GraphQLObjectType<CapturedTable, ControlContext>({
  name: 'captured_table',
  fields: {
    table: text,
    result: {
      type: new GraphQLNonNull(
        new GraphQLEnumType({
          name: 'capture_result',
          values: {
            changed: {},
            unchanged: { description: 'It was as it should be.' },
            left_out: { description: 'It has no primary key, and was not named.' },
            failed: {},
          },
        }),
      ),
    },
    problem: { type: GraphQLString, description: 'Why it was left out or failed.' },
  },
});

interface ManyArgs {
  readonly tables: readonly string[];
  readonly except?: readonly string[] | null;
  readonly writers: Writers;
}

/** Sets whose changes to many tables become events. */
export const setManyCaptures: ControlField<ManyArgs> = {
  type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(capturedTableType))),
  description:
    'The same for many tables, one after the other: each is locked alone, and what was done stays done. It must be the only mutation of its request. Send it again to continue.',
  args: {
    tables: { type: new GraphQLNonNull(names), description: 'Names, in which `*` stands for any text.' },
    except: { type: names },
    writers: { type: new GraphQLNonNull(writersType) },
  },
  resolve: async (_source, { tables, except, writers }, context) => {
    const { principal, deps, connections } = context;
    const schema = requireTenantAdmin(principal);
    requireOnlyMutation(context, 'set_captures');
    const { tenantid } = principal;
    const catalog = await deps.engine.introspect(tenantid, schema);
    const chosen = chooseTables(catalog, tables, except ?? []);
    try {
      return await captureChosen(deps.database, { tenantid, schema, writers }, chosen, {
        patienceMs: deps.config.requestTimeoutMs,
        connected: (work) => connections.run(tenantid, work),
        record: (tx, table) =>
          recordChange(tx, context, {
            object: 'captured_table',
            operation: 'set_captures',
            key: table.name,
            after: { writers },
          }),
      });
    } finally {
      deps.engine.forget(tenantid);
    }
  },
};

interface ChosenTables {
  readonly tables: readonly Table[];
  /** Tables that can't be captured. */
  readonly others: readonly CapturedTable[];
}

/** Each is compared with each table. */
const MAX_PATTERNS = 100;
const MAX_PATTERN_CHARACTERS = 200;

/**
 * The tables that patterns match, in the catalog's order. Throws AppError UNKNOWN_TABLE for a name that is no table's, and
 * BAD_USER_INPUT for a pattern that matches none, and for too many.
 */
export function chooseTables(
  catalog: Catalog,
  tables: readonly string[],
  except: readonly string[],
): ChosenTables {
  const all = [...catalog.tables.values()].filter(({ kind }) => kind === 'table');
  const { named, patterns } = readNames(tables, 'tables');
  const left = readNames(except, 'except');
  if (named.size > 0 || patterns.length === 0) requireKnownTables(catalog, [...named]);
  for (const pattern of patterns) {
    if (!all.some(({ name }) => matchesPattern(name, pattern)))
      throw badInput('tables', `No table has a name like ${pattern}.`);
  }
  const chosen = [...catalog.tables.values()].filter(
    ({ name, kind }) =>
      (named.has(name) || (kind === 'table' && patterns.some((pattern) => matchesPattern(name, pattern)))) &&
      !left.named.has(name) &&
      !left.patterns.some((pattern) => matchesPattern(name, pattern)),
  );
  const canBeCaptured = (table: Table): boolean => table.kind === 'table' && table.primaryKey.length > 0;
  return {
    tables: chosen.filter(canBeCaptured),
    others: chosen
      .filter((table) => !canBeCaptured(table))
      .map(({ name }) => ({
        table: name,
        result: named.has(name) ? 'failed' : 'left_out',
        problem: `${name} has no primary key: its events would not identify the row.`,
      })),
  };
}

/** Throws AppError BAD_USER_INPUT. */
function readNames(
  given: readonly string[],
  field: string,
): { readonly named: ReadonlySet<string>; readonly patterns: readonly string[] } {
  const [named, patterns] = [new Set<string>(), new Set<string>()];
  for (const text of given) (text.includes('*') ? patterns : named).add(text);
  if (patterns.size > MAX_PATTERNS || [...patterns].some(({ length }) => length > MAX_PATTERN_CHARACTERS))
    throw badInput(
      field,
      `${field} has at most ${MAX_PATTERNS} patterns of ${MAX_PATTERN_CHARACTERS} characters.`,
    );
  return { named, patterns: [...patterns] };
}

/** In time with the length of both. */
function matchesPattern(name: string, pattern: string): boolean {
  const [start = '', ...rest] = pattern.split('*');
  const end = rest.pop();
  if (end === undefined) return name === pattern;
  let at = start.length;
  if (!name.startsWith(start)) return false;
  for (const part of rest) {
    const found = name.indexOf(part, at);
    if (found < 0) return false;
    at = found + part.length;
  }
  return name.length - at >= end.length && name.endsWith(end);
}

/**
 * @param options.connected runs work that holds a connection
 * @param options.record writes who did it, in the transaction of each table
 */
export async function captureChosen(
  { pool, tenants }: Database,
  what: Omit<ManyTables, 'tables'>,
  { tables, others }: ChosenTables,
  options: {
    readonly patienceMs: number;
    readonly connected?: <T>(work: () => Promise<T>) => Promise<T>;
    readonly record?: (tx: StatementRunner, table: Table) => Promise<void>;
  },
): Promise<readonly CapturedTable[]> {
  const { patienceMs, record, connected = <T>(work: () => Promise<T>): Promise<T> => work() } = options;
  const captured = await captureTables(
    pool,
    await tenants.names(),
    { ...what, tables },
    (change, table) =>
      connected(() =>
        inTransaction(pool, async (tx) => {
          await lockTenant(tx, what.tenantid);
          await change(tx);
          await record?.(tx, table);
        }),
      ),
    patienceMs,
  );
  return [...captured, ...others];
}

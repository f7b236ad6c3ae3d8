import type { FieldNode, GraphQLResolveInfo } from 'graphql';
import type { Config } from '../config/config.js';
import { responseTooLarge } from '../db/pool/responseBudget.js';
import type { Catalog, Table } from '../db/catalog/catalog.js';
import type { Database } from '../db/pool/database.js';
import { boundStatement, compiledStatement } from '../db/pool/compiledStatement.js';
import { runBoundStatement } from '../db/pool/runStatement.js';
import type { Principal } from '../db/roles/principal.js';
import { sql, wholeNumber, type Sql } from '../db/sql/sql.js';
import { parseJson } from '../foundation/json/losslessJson.js';
import { aggregateJson } from './aggregates/aggregateJson.js';
import { FieldError } from './response.js';
import { inputsOf } from './bindStatements.js';
import { createAliasSource } from './filter/rows/scope.js';
import { principalInputs } from './policy/policy.js';
import { readListArguments } from './read/listArguments.js';
import { tableNamed, type ReadContext } from './read/readContext.js';
import { RequestFilters } from './read/requestFilters.js';
import { listJson } from './read/rowsSql.js';
import { selectRows } from './read/selectRows.js';

/** Reads lists of control objects with the arguments and the SQL of lists of tenants' tables. */
export interface ListReader {
  /**
   * Reads the rows of a root list field with everything selected below it in one statement: objects by response key.
   * Fields missing from the catalog are left to their own resolvers. Throws AppError, including when this reader has read
   * more than MAX_RESPONSE_BYTES in total.
   */
  read(info: GraphQLResolveInfo, tableName: string): Promise<unknown[]>;
  /** The objects of a field of `Aggregates`. Throws as `read` does. */
  aggregate(info: GraphQLResolveInfo): Promise<unknown[]>;
}

export interface ListReaderDeps {
  readonly database: Database;
  readonly config: Config;
  readonly catalog: Catalog;
  /** The rows that the caller may see, at every level. */
  readonly visible: (table: Table, alias: Sql) => Sql | 'all' | 'none';
  /** For `$_PRINCIPAL` in filters. */
  readonly principal: Principal;
  /** Throws AppError for rows that would take long to parse. */
  readonly checkSize: (json: string) => void;
  readonly statementTimeoutMs: number;
  /** Schedules the compilation of a list, whose filter may be long, in turn with that of others. Throws AppError TOO_BUSY. */
  readonly plan: <T>(work: () => T) => Promise<T>;
  /** Runs what holds a connection. Throws AppError TOO_BUSY. */
  readonly connected: <T>(work: () => Promise<T>) => Promise<T>;
}

export function createListReader(deps: ListReaderDeps): ListReader {
  const { config } = deps;
  const { transactions } = deps.database;
  const principal = principalInputs(deps.principal);

  let characters = 0;

  async function run(
    info: GraphQLResolveInfo,
    compile: (context: ReadContext, field: FieldNode) => Sql,
  ): Promise<unknown[]> {
    const filters = new RequestFilters();
    const context: ReadContext = {
      catalog: deps.catalog,
      fragments: new Map(Object.entries(info.fragments)),
      variables: info.variableValues,
      access: { predicate: deps.visible },
      aliases: createAliasSource(),
      filters,
      limits: { defaultLimit: config.listDefaultLimit, maxLimit: config.listMaxLimit },
      skipUnknown: true,
    };
    const [field] = info.fieldNodes;
    if (!field) throw new Error('a resolver is called for at least one field');
    const statement = await deps.plan(() => {
      const list = bounded(compile(context, field), config.maxResponseBytes);
      const inputs = inputsOf(info.variableValues, filters, principal);
      return boundStatement(compiledStatement(list), inputs);
    });
    const rows = await deps.connected(() =>
      runBoundStatement(transactions, null, 'read', statement, deps.statementTimeoutMs),
    );
    const json = rows[0]?.[0];
    characters += json?.length ?? 0;
    if (json == null || characters > config.maxResponseBytes) {
      throw responseTooLarge();
    }
    deps.checkSize(json);
    return parseJson(json) as unknown[];
  }

  return {
    read: (info, tableName) =>
      run(info, (context, field) => {
        return ownErrors(() => {
          const table = tableNamed(context.catalog, tableName);
          const selection = selectRows(context, table, info.fieldNodes, []);
          return listJson(context, selection, readListArguments(context, field), []);
        });
      }),
    aggregate: (info) => run(info, aggregateJson),
  };
}

/** Null if the list is too large. */
function bounded(list: Sql, bytes: number): Sql {
  return sql`select case when pg_catalog.octet_length(a.j) operator(pg_catalog.<=) ${wholeNumber(bytes)} then a.j end from (${list}) a(j)`;
}

function ownErrors<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw error instanceof FieldError ? error.error : error;
  }
}

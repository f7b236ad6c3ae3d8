import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { bind, identifier, NO_INPUTS, toStatement } from '../../db/sql/sql.js';
import { compileFilter } from '../../graphql/filter/compile.js';
import { parseFilter, type ParsedFilter } from '../../graphql/filter/syntax/parser.js';
import { createAliasSource } from '../../graphql/filter/rows/scope.js';
import type { Steps } from '../../graphql/steps.js';

/**
 * Compiles a policy rule's filter for its tables as requests will, so that a rule that could not grant anything is rejected when saved.
 * Throws AppError FILTER_SYNTAX, FILTER_UNKNOWN_COLUMN, FILTER_TYPE, FILTER_TOO_COMPLEX.
 */
export function* checkRuleFilter(filter: string, tables: readonly Table[], catalog: Catalog): Steps<void> {
  yield;
  const parsed = parseFilter(filter);
  for (const table of tables) {
    yield;
    checkOn(parsed, table, catalog);
  }
}

function checkOn({ tree, literals }: ParsedFilter, table: Table, catalog: Catalog): void {
  const condition = compileFilter(tree, literals, {
    catalog,
    table,
    alias: identifier('r'),
    aliases: createAliasSource(),
    access: { predicate: () => 'all' },
    filterVariable: undefined,
  });
  // Binding checks literals against their columns.
  bind(toStatement(condition), NO_INPUTS);
}

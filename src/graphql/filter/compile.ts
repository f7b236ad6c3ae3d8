import type { Sql } from '../../db/sql/sql.js';
import { identifier, join, sql } from '../../db/sql/sql.js';
import { compileAtoms, planAtom, type AtomPlan } from './conditions/atoms.js';
import { conjunction } from './conjunction.js';
import type { Condition, Environment } from './environment.js';
import { widest } from './rows/readExtent.js';
import { errorAt } from './syntax/errors.js';
import type { ParsedFilter } from './syntax/parser.js';
import { behindPolicies } from './rows/securityBarrier.js';
import type { FilterScope, Row, StatementScope } from './rows/scope.js';
import type { FilterNode, Literal, LogicalNode } from './syntax/tree.js';
import { NO_EFFORT, withinEffort } from './values/effort.js';
import { compileOperand } from './values/compileOperand.js';

/**
 * Compiles a filter to a boolean SQL expression over the row `scope.alias`. The SQL depends only on the filter's shape, the
 * catalog and the policies; literals are read from `Inputs.literals(scope.filterVariable)` when a statement is bound, and
 * those that don't match their column's type are rejected then, with FILTER_TYPE.
 *
 * Null behaves as in PostgreSQL: a comparison with null is neither true nor false, and only rows for which the filter is
 * true pass. The SQL may be false where it should be null, so use it only where the two are equivalent, as in WHERE.
 *
 * @throws AppError FILTER_UNKNOWN_COLUMN, FILTER_TYPE, FILTER_SYNTAX, PERMISSION_DENIED, with offset, line and column
 */
export function compileFilter(tree: FilterNode, literals: readonly Literal[], scope: FilterScope): Sql {
  const { table, alias } = scope;
  const environment = environmentOf(scope, literals, 'row', [['', { table, alias }]]);
  const policy = scope.access.predicate(table, alias);
  if (policy === 'none')
    throw errorAt('PERMISSION_DENIED', `This role may not read "${table.name}"`, tree.at);
  const policies = [...(scope.policies ?? []), ...(policy === 'all' ? [] : [policy])];
  const conditions = withinEffort(environment, tree.at, (within) => compileConjuncts(tree, within, false));
  return behindPolicies(policies, conditions);
}

/**
 * A policy rule's filter, whose author sees every row. `share` is its part of what the rules may take together.
 * @throws AppError as compileFilter
 */
export function compileRuleFilter(
  { tree, literals }: ParsedFilter,
  scope: FilterScope,
  share: number,
): Condition {
  const { table, alias } = scope;
  const environment = environmentOf({ ...scope, isRule: true }, literals, 'row', [['', { table, alias }]]);
  const compile = (within: Environment): Condition[] => compileConjuncts(tree, within, false);
  const conditions = withinEffort(environment, tree.at, compile, share);
  return { sql: conjunction(conditions), indexable: false, reads: widest(conditions) };
}

export interface RecordScope extends StatementScope {
  /** The table of both records. */
  readonly table: Row['table'];
}

/**
 * Compiles the condition of an email rule to a boolean SQL expression over the rows `new_row` and `old_row`, which the
 * statement provides as `json_to_record(…)` with the columns that it reads: an absent record has null in every column. Columns
 * are written `new.<column>` and `old.<column>`, and relations start there: `new.customer.country`.
 *
 * @throws AppError as compileFilter
 */
export function compileCondition(parsed: ParsedFilter, scope: RecordScope): Sql {
  const { table } = scope;
  const environment = environmentOf(scope, parsed.literals, 'records', [
    ['new', { table, alias: identifier('new_row') }],
    ['old', { table, alias: identifier('old_row') }],
  ]);
  const { tree } = parsed;
  return withinEffort(environment, tree.at, (within) => compileNested(tree, within, 'truth')).sql;
}

function environmentOf(
  scope: StatementScope,
  literals: readonly Literal[],
  root: Environment['root'],
  rows: readonly (readonly [string, Row])[],
): Environment {
  return {
    scope,
    literals,
    root,
    rows: new Map(rows),
    joins: { count: 0 },
    effort: { ...NO_EFFORT },
    compileOperand,
    compileCondition: compileNested,
  };
}

function compileNested(node: FilterNode, environment: Environment, want: 'truth' | 'value'): Condition {
  return compileLogic(node, environment, want, false);
}

/** Pushes NOT inward (de Morgan's laws also hold for null), so that conditions below it may still become `exists`. */
function compileLogic(
  node: FilterNode,
  environment: Environment,
  want: 'truth' | 'value',
  negated: boolean,
): Condition {
  switch (node.kind) {
    case 'everything':
      return { sql: sql`true`, indexable: true, reads: 'row' };
    case 'not':
      return compileLogic(node.operand, environment, want, !negated);
    case 'and':
    case 'or': {
      const isAnd = isConjunction(node, negated);
      const items =
        isAnd && want === 'truth'
          ? compileConjuncts(node, environment, negated)
          : node.items.map((item) => compileLogic(item, environment, want, negated));
      const reads = widest(items);
      const indexable = items.every((item) => item.indexable);
      if (isAnd) return { sql: conjunction(items), indexable, reads };
      const sqls = items.map((item) => item.sql);
      // PostgreSQL can combine bitmaps of several indexes, but only of one table.
      return { sql: sql`(${join(sqls, ' or ')})`, indexable: indexable && reads === 'row', reads };
    }
    default:
      return compileAtoms([planAtom(node, environment, want, negated)], environment);
  }
}

/**
 * Compiles conditions that must all be true. Those on the same related row share one `exists`: PostgreSQL plans each
 * `exists` as a join, which takes seconds for a hundred of them.
 */
function compileConjuncts(node: FilterNode, environment: Environment, negated: boolean): Condition[] {
  const parts: (Condition | [AtomPlan, ...AtomPlan[]])[] = [];
  const shared = new Map<string, AtomPlan[]>();
  const collect = (item: FilterNode, not: boolean): void => {
    if (item.kind === 'not') {
      collect(item.operand, !not);
      return;
    }
    if (item.kind === 'and' || item.kind === 'or' || item.kind === 'everything') {
      if (item.kind !== 'everything' && isConjunction(item, not)) {
        for (const inner of item.items) collect(inner, not);
      } else {
        parts.push(compileLogic(item, environment, 'truth', not));
      }
      return;
    }
    const plan = planAtom(item, environment, 'truth', not);
    const { sharedRow } = plan;
    const known = sharedRow === undefined ? undefined : shared.get(sharedRow);
    if (known) {
      known.push(plan);
      return;
    }
    const group: [AtomPlan] = [plan];
    if (sharedRow !== undefined) shared.set(sharedRow, group);
    parts.push(group);
  };
  collect(node, negated);
  return parts.map((part) => (Array.isArray(part) ? compileAtoms(part, environment) : part));
}

function isConjunction({ kind }: LogicalNode, negated: boolean): boolean {
  return (kind === 'and') !== negated;
}

import type { Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../errors.js';
import { requireMayHold } from '../../graphql/email/neverHolds.js';
import { distinct } from '../object/readValues.js';
import { requireKnownTables } from '../object/references.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../object/badInput.js';
import { requireSchema } from '../permissions.js';

/** What a change to a row can be. */
export const OPERATIONS: readonly string[] = ['insert', 'update', 'delete', 'upload'];

/** What of a rule its tables must fit. */
interface RuleTargets {
  readonly enabled: boolean;
  readonly targets: readonly string[];
  readonly operations: readonly string[];
  readonly condition: string | null;
}

/**
 * Whether the tables that a rule names are there and its condition fits them. Of a rule that is not enabled by the change
 * only when it changes that: one whose table is gone can still be disabled. Throws AppError UNKNOWN_TABLE,
 * READ_ONLY_TABLE, FILTER_*.
 */
export async function checkRuleTargets(change: {
  readonly context: ControlContext;
  readonly before: RuleTargets | undefined;
  readonly row: RuleTargets;
}): Promise<void> {
  const { context, before, row: rule } = change;
  const isEnabled = rule.enabled && before?.enabled !== true;
  const what = ({ targets, operations, condition }: RuleTargets): string =>
    JSON.stringify([targets, operations, condition]);
  if (before && !isEnabled && what(rule) === what(before)) return;
  const { tenantid } = context.principal;
  const { engine } = context.deps;
  const schema = requireSchema(context.principal);
  const tables = requireKnownTables(await engine.catalog(tenantid, schema), rule.targets);
  for (const table of tables) requireWritable(table);
  if (rule.condition === null) return;
  for (const target of rule.targets) await engine.checkCondition(tenantid, schema, target, rule.condition);
  requireMayHold(rule.condition, rule.operations);
}

/** Only what is written has events. Throws AppError READ_ONLY_TABLE. */
export function requireWritable({ name, kind, primaryKey }: Table): void {
  if (kind === 'table' && primaryKey.length > 0) return;
  const [what, hint] =
    kind === 'view'
      ? ['is a view', 'Name the tables that the view reads.']
      : ['has no primary key', 'Give the table a primary key.'];
  throw new AppError(
    'READ_ONLY_TABLE',
    `${name} ${what}: nothing is written to it, so the rule would never fire.`,
    { hint, details: { field: 'targets', target: name } },
  );
}

/** Throws AppError BAD_USER_INPUT, EMAIL_OPERATION_UNKNOWN. */
export function readOperations(given: readonly string[], field: string): readonly string[] {
  if (given.length === 0) throw badInput(field, `${field} must name one.`);
  const unknown = given.find((operation) => !OPERATIONS.includes(operation));
  if (unknown !== undefined) throw unknownOperation(unknown, field);
  return distinct(given);
}

export function unknownOperation(operation: string, field: string): AppError {
  return new AppError('EMAIL_OPERATION_UNKNOWN', `There is no operation "${operation}".`, {
    details: { field, operation },
  });
}

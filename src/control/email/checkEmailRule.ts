import type { Table } from '../../db/catalog/catalog.js';
import { emailTypeNotFound, type EmailRuleValues } from './emailRules.js';
import { readEmailType } from './emailTypeRows.js';
import { AppError } from '../../errors.js';
import { requireMayHold } from '../../graphql/email/neverHolds.js';
import { requireKnownRoles, requireKnownTables } from '../object/checkNames.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireItems, requireValue } from '../object/controlObject.js';
import { requireSchema } from '../permissions.js';

export interface EmailRuleInput {
  readonly operations?: readonly (string | null)[] | null;
  readonly targets?: readonly (string | null)[] | null;
  readonly email_type?: string | null;
  readonly query_roleid?: number | null;
  readonly name?: string | null;
  readonly condition?: string | null;
  readonly enabled?: boolean | null;
  readonly delivery?: string | null;
}

/** What a change to a row can be. */
export const OPERATIONS: readonly string[] = ['insert', 'update', 'delete', 'upload'];

/** A whole rule. Throws AppError BAD_USER_INPUT, EMAIL_OPERATION_UNKNOWN. */
export function readNewEmailRule(input: EmailRuleInput): EmailRuleValues {
  return {
    name: requireValue(input.name, 'name'),
    operations: readOperations(input.operations),
    targets: readTargets(input.targets),
    email_type: requireValue(input.email_type, 'email_type'),
    query_roleid: requireValue(input.query_roleid, 'query_roleid'),
    condition: readCondition(input.condition),
    enabled: input.enabled ?? true,
    delivery: readDelivery(input.delivery),
  };
}

/** What an update gives; the rest stays as `before` has it. Throws AppError BAD_USER_INPUT, EMAIL_OPERATION_UNKNOWN. */
export function readChangedEmailRule(input: EmailRuleInput, before: EmailRuleValues): EmailRuleValues {
  const { name, operations, targets, email_type, query_roleid, condition, enabled, delivery } = input;
  return {
    name: name === undefined ? before.name : requireValue(name, 'name'),
    operations: operations === undefined ? before.operations : readOperations(operations),
    targets: targets === undefined ? before.targets : readTargets(targets),
    email_type: email_type === undefined ? before.email_type : requireValue(email_type, 'email_type'),
    query_roleid:
      query_roleid === undefined ? before.query_roleid : requireValue(query_roleid, 'query_roleid'),
    condition: condition === undefined ? before.condition : readCondition(condition),
    enabled: enabled ?? before.enabled,
    delivery: delivery === undefined ? before.delivery : readDelivery(delivery),
  };
}

/**
 * Whether all that the rule names is there; of a change only what it changes, unless it enables the rule: one whose
 * table is gone can still be disabled. Throws AppError UNKNOWN_TABLE, READ_ONLY_TABLE, UNKNOWN_ROLE, EMAIL_TYPE_NOT_FOUND, FILTER_*.
 */
export async function checkEmailRule(
  context: ControlContext,
  rule: EmailRuleValues,
  before?: EmailRuleValues,
): Promise<void> {
  const { db, principal } = context;
  const isNew = (field: 'email_type' | 'query_roleid' | 'condition'): boolean =>
    before === undefined || (rule.enabled && !before.enabled) || rule[field] !== before[field];
  const isOther = (field: 'targets' | 'operations'): boolean =>
    JSON.stringify(rule[field]) !== JSON.stringify(before?.[field]);
  if (isNew('condition') || isOther('targets') || isOther('operations')) {
    await checkTargets(context, rule);
  }
  if (isNew('email_type') && !(await readEmailType(db, principal.tenantid, rule.email_type))) {
    throw emailTypeNotFound(rule.email_type);
  }
  if (isNew('query_roleid')) await requireKnownRoles(context, [rule.query_roleid], 'query_roleid');
}

async function checkTargets({ principal, deps }: ControlContext, rule: EmailRuleValues): Promise<void> {
  const { tenantid } = principal;
  const schema = requireSchema(principal);
  const tables = requireKnownTables(await deps.engine.catalog(tenantid, schema), rule.targets);
  for (const table of tables) requireWritable(table);
  if (rule.condition === null) return;
  for (const target of rule.targets) {
    await deps.engine.checkCondition(tenantid, schema, target, rule.condition);
  }
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

function readOperations(given: EmailRuleInput['operations']): readonly string[] {
  const operations = [...new Set(requireItems(given ?? [], 'operations'))];
  if (operations.length === 0) throw badInput('operations', 'operations must name one.');
  const unknown = operations.find((operation) => !OPERATIONS.includes(operation));
  if (unknown === undefined) return operations;
  throw unknownOperation(unknown, 'operations');
}

export function unknownOperation(operation: string, field: string): AppError {
  return new AppError('EMAIL_OPERATION_UNKNOWN', `There is no operation "${operation}".`, {
    details: { field, operation },
  });
}

function readTargets(given: EmailRuleInput['targets']): readonly string[] {
  return [...new Set(requireItems(given ?? [], 'targets'))];
}

function readCondition(given: string | null | undefined): string | null {
  return given == null || given.trim() === '' ? null : given;
}

function readDelivery(given: string | null | undefined): EmailRuleValues['delivery'] {
  const delivery = given ?? 'at_least_once';
  if (delivery !== 'at_least_once' && delivery !== 'at_most_once') {
    throw badInput('delivery', 'delivery is at_least_once or at_most_once.');
  }
  return delivery;
}

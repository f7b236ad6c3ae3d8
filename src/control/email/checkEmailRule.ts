import { readCapture } from '../../db/capture/capture.js';
import type { Catalog, Table } from '../../db/catalog/catalog.js';
import { heldWrites } from '../../db/catalog/grants.js';
import { AppError } from '../../foundation/errors.js';
import { requireSatisfiable } from '../../graphql/email/satisfiable.js';
import { parseFilter } from '../../graphql/filter/syntax/parser.js';
import { isWritable } from '../../graphql/write/writable.js';
import { requireKnownEmailType, requireKnownRoles, requireKnownTables } from '../derive/references.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { nameTaken } from '../derive/mapUniqueViolation.js';
import type { Check } from '../derive/checkAll.js';
import { requireQuota } from '../derive/ruleQuota.js';
import { requireSchema } from '../permissions.js';

/** Operations that a rule can react to. */
export const OPERATIONS: readonly string[] = ['insert', 'update', 'delete', 'upload'];

/** Every batch of events is matched with all of them. */
export const EMAIL_RULE_QUOTA = {
  table: 'email_rule',
  label: 'email rules',
  columns: ['name', 'targets', 'condition'],
  largest: 'condition',
  maxRows: 1_000,
  maxCharacters: 1_000_000,
} as const;

interface Rule {
  readonly name: string;
  readonly enabled: boolean;
  readonly targets: readonly string[];
  readonly operations: readonly string[];
  readonly condition: string | null;
  readonly email_type: string;
  readonly query_roleid: number;
}

/**
 * Checks that everything the rule refers to exists. An update is only checked for what it changes, unless it enables the
 * rule, so that a rule whose table is gone can still be disabled. They throw AppError UNKNOWN_TABLE, READ_ONLY_TABLE,
 * UNKNOWN_ROLE, EMAIL_TYPE_NOT_FOUND, FILTER_*, BAD_USER_INPUT if the tenant's rules become too many or too large.
 */
export function emailRuleChecks(change: {
  readonly context: ControlContext;
  readonly before: (Rule & { readonly ruleid: string | number }) | undefined;
  readonly row: Partial<Rule>;
}): readonly Check[] {
  const { context, before, row: rule } = change;
  const { targets, operations, condition, email_type, query_roleid } = rule;
  const isEnabled = rule.enabled === true && before?.enabled !== true;
  const isNew = (...fields: readonly (keyof Rule)[]): boolean =>
    isEnabled || fields.some((field) => JSON.stringify(rule[field]) !== JSON.stringify(before?.[field]));
  const isTargeted = isNew('targets', 'operations', 'condition');
  return [
    [
      'name',
      () => requireQuota(context, EMAIL_RULE_QUOTA, before, { name: '', targets, condition, ...rule }),
    ],
    ['targets', () => isTargeted && targets && checkTargets(context, targets, operations)],
    [
      'condition',
      () => isTargeted && condition != null && checkCondition(context, condition, targets, operations),
    ],
    [
      'email_type',
      () => isNew('email_type') && email_type != null && requireKnownEmailType(context, email_type),
    ],
    [
      'query_roleid',
      () =>
        isNew('query_roleid') &&
        query_roleid != null &&
        requireKnownRoles(context, query_roleid, 'query_roleid'),
    ],
    // Last: clients read the code of the first error, which was never this one if there was another.
    [
      'name',
      () => isNew('name') && rule.name !== undefined && requireFreeName(context, rule.name, before?.ruleid),
    ],
  ];
}

/** So that it is reported with all other errors; the unique key decides. Throws AppError NAME_TAKEN. */
async function requireFreeName(
  { db, principal }: ControlContext,
  name: string,
  ruleid: string | number | undefined,
): Promise<void> {
  const { rows } = await db.query(
    'select from rowpost.email_rule where tenantid = $1 and name = $2 and ruleid is distinct from $3',
    [principal.tenantid, name, ruleid],
  );
  if (rows.length === 0) return;
  throw new AppError('NAME_TAKEN', nameTaken('email rule of the tenant', name), {
    details: { field: 'name' },
  });
}

async function checkTargets(
  context: ControlContext,
  targets: readonly string[],
  operations: readonly string[] | undefined,
): Promise<void> {
  const tables = requireKnownTables(await catalogOf(context), targets);
  for (const table of tables) requireWritable(table);
  if (operations) await requireWriters(context, tables, operations);
}

/** As it is written, and against those of the tables that exist. */
async function checkCondition(
  context: ControlContext,
  condition: string,
  targets: readonly string[] = [],
  operations?: readonly string[],
): Promise<void> {
  const { principal, deps } = context;
  const { tables } = await catalogOf(context);
  parseFilter(condition);
  for (const target of targets.filter((name) => tables.has(name))) {
    await deps.engine.checkCondition(principal.tenantid, requireSchema(principal), target, condition);
  }
  if (operations) requireSatisfiable(condition, operations);
}

function catalogOf({ principal, deps }: ControlContext): Promise<Catalog> {
  return deps.engine.catalog(principal.tenantid, requireSchema(principal));
}

/** Read-only tables have no events. Throws AppError READ_ONLY_TABLE. */
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

/** A table that the API can't write to only has events while other writers are captured. Throws AppError READ_ONLY_TABLE. */
async function requireWriters(
  { principal: { tenantid }, deps, db }: ControlContext,
  tables: readonly Table[],
  operations: readonly string[],
): Promise<void> {
  const schema = tables[0]?.schema;
  if (schema === undefined) return;
  const role = (await deps.database.tenants.names()).tenant(tenantid);
  const sqlNames = tables.map(({ sqlName }) => sqlName);
  const held = await heldWrites(db, schema, role, sqlNames);
  for (const table of tables) {
    // Uploads only write to the table if a column names the newest file.
    const writes = isWritable(table) ? ['upload', ...(held.get(table.sqlName) ?? [])] : [];
    if (operations.some((operation) => writes.includes(operation))) continue;
    if ((await readCapture(db, tenantid, table)).writers === 'all') continue;
    const { name } = table;
    throw new AppError(
      'READ_ONLY_TABLE',
      `The API can't do ${operations.join(', ')} on ${name}, and other writers are not captured: the rule would never fire.`,
      {
        hint: `Capture every writer first: set_capture(table_name: "${name}", writers: all).`,
        details: { field: 'targets', target: name },
      },
    );
  }
}

/** Throws AppError BAD_USER_INPUT, EMAIL_OPERATION_UNKNOWN. */
export function readOperations(given: readonly string[], field: string): readonly string[] {
  if (given.length === 0) throw badInput(field, `${field} must name one.`);
  const unknown = given.find((operation) => !OPERATIONS.includes(operation));
  if (unknown !== undefined) throw unknownOperation(unknown, field);
  return [...new Set(given)];
}

export function unknownOperation(operation: string, field: string): AppError {
  return new AppError('EMAIL_OPERATION_UNKNOWN', `There is no operation "${operation}".`, {
    details: { field, operation },
  });
}

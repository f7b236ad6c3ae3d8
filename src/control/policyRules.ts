import type { ControlDb } from '../db/database.js';
import { orNameTaken } from './object/nameTaken.js';
import { insertRow, readRow, readRows } from './object/storedRows.js';

export interface PolicyRuleRow {
  readonly ruleid: number;
  readonly tenantid: number;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  readonly roles: readonly number[];
  readonly classes: readonly number[];
  readonly filter: string | null;
  readonly creatorid: number | null;
  readonly createtime: string;
}

export type PolicyRuleValues = Pick<
  PolicyRuleRow,
  'name' | 'capabilities' | 'targets' | 'roles' | 'classes' | 'filter'
>;

const COLUMNS =
  'ruleid, tenantid, name, capabilities, targets, roles, classes, filter, creatorid, createtime';

/** Throws AppError NAME_TAKEN. @returns ruleid. */
export function insertPolicyRule(
  knex: ControlDb,
  tenantid: number,
  creatorid: number,
  values: PolicyRuleValues,
): Promise<number> {
  return orNameTaken(
    insertRow<number>(knex, 'policy_rule', { ...values, tenantid, creatorid }, 'ruleid'),
    ...nameTaken(values.name),
  );
}

/** Throws AppError NAME_TAKEN. */
export async function updatePolicyRule(
  knex: ControlDb,
  tenantid: number,
  ruleid: number,
  changes: Partial<PolicyRuleValues>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await orNameTaken(
    knex('rowpost.policy_rule').where({ tenantid, ruleid }).update(changes),
    ...nameTaken(changes.name ?? ''),
  );
}

export async function deletePolicyRule(knex: ControlDb, tenantid: number, ruleid: number): Promise<void> {
  await knex('rowpost.policy_rule').where({ tenantid, ruleid }).delete();
}

/** @returns undefined when the tenant has no such rule. */
export function readPolicyRule(
  knex: ControlDb,
  tenantid: number,
  ruleid: number,
): Promise<PolicyRuleRow | undefined> {
  return readRow<PolicyRuleRow>(knex, 'policy_rule', COLUMNS, { tenantid, ruleid });
}

export function listPolicyRules(knex: ControlDb, tenantid: number): Promise<readonly PolicyRuleRow[]> {
  return readRows<PolicyRuleRow>(knex, 'policy_rule', COLUMNS, { tenantid });
}

/** Names of all capabilities there are. */
export async function readCapabilities(knex: ControlDb): Promise<readonly string[]> {
  const rows = (await knex('rowpost.capability').select('capability').orderBy('capability')) as {
    capability: string;
  }[];
  return rows.map((row) => row.capability);
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another policy rule of the tenant is named "${name}".`, { field: 'name' }];
}

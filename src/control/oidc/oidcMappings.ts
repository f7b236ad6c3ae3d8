import type { ControlDb } from '../../db/database.js';
import { orNameTaken } from '../object/nameTaken.js';
import { readRow } from '../object/storedRows.js';

/** Which identity at a provider is which role. */
export interface RoleOidcRow {
  readonly roleid: number;
  readonly confid: number;
  readonly tenantid: number;
  /** The identity's value of the provider's `comparison_field`. */
  readonly sub_id: string;
  readonly creatorid: number | null;
  readonly createtime: string;
}

export type RoleOidcKey = Pick<RoleOidcRow, 'tenantid' | 'roleid' | 'confid'>;

/** Throws AppError NAME_TAKEN when the role is mapped through the configuration already. */
export async function insertRoleOidc(
  knex: ControlDb,
  mapping: RoleOidcKey & { readonly sub_id: string; readonly creatorid: number },
): Promise<void> {
  await orNameTaken(
    knex('rowpost.role_oidc').insert(mapping),
    `Role ${mapping.roleid} is mapped through configuration ${mapping.confid} already: change it with update_role_oidc.`,
    { field: 'confid', roleid: mapping.roleid, confid: mapping.confid },
    'A role has one identity in each configuration: change its sub_id with update_role_oidc.',
  );
}

export async function updateRoleOidc(knex: ControlDb, key: RoleOidcKey, sub_id: string): Promise<void> {
  await knex('rowpost.role_oidc')
    .where({ ...key })
    .update({ sub_id });
}

export async function deleteRoleOidc(knex: ControlDb, key: RoleOidcKey): Promise<void> {
  await knex('rowpost.role_oidc')
    .where({ ...key })
    .delete();
}

/** @returns undefined when the role is not mapped through the configuration. */
export function readRoleOidc(knex: ControlDb, key: RoleOidcKey): Promise<RoleOidcRow | undefined> {
  const { tenantid, roleid, confid } = key;
  const columns = 'roleid, confid, tenantid, sub_id, creatorid, createtime';
  return readRow<RoleOidcRow>(knex, 'role_oidc', columns, { tenantid, roleid, confid });
}

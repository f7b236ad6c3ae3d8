import type { Knex } from 'knex';
import { findLogin, insertRole } from './roles.js';

/** The role of anonymous visitors. The login is kept for it: no other role may take it, and it has no password. */
export const NOBODY_LOGIN = 'Nobody';

const CAPABILITIES = [
  'select',
  'insert',
  'update',
  'delete',
  'upload',
  'download',
  'create_role',
  'view_role',
];

/** Makes the tenant's Nobody role when it is missing, below the root role. */
export async function ensureNobody(knex: Knex, tenantid: number): Promise<void> {
  if (await findLogin(knex, tenantid, NOBODY_LOGIN)) return;
  const tenant = await knex('rowpost.tenant')
    .where({ tenantid })
    .first<{ root_roleid: number | null } | undefined>('root_roleid');
  await insertRole(knex, {
    tenantid,
    login: NOBODY_LOGIN,
    name: 'anonymous visitors',
    passwordHash: null,
    parentid: tenant?.root_roleid ?? null,
    classes: [],
    capabilities: CAPABILITIES,
    creatorid: tenant?.root_roleid ?? null,
  });
}

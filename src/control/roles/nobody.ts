import type { ControlDb } from '../../db/connection/database.js';
import { NOBODY_LOGIN } from '../../db/principal.js';
import { findLogin, insertRole } from './roles.js';

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

/** Creates the tenant's Nobody role if missing, below the root role. */
export async function ensureNobody(db: ControlDb, tenantid: number): Promise<void> {
  if (await findLogin(db, tenantid, NOBODY_LOGIN)) return;
  const tenant = await db('rowpost.tenant')
    .where({ tenantid })
    .first<{ root_roleid: number | null } | undefined>('root_roleid');
  await insertRole(db, {
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

import type { ControlDb } from '../../db/pool/database.js';
import { NOBODY_LOGIN } from '../../db/roles/principal.js';
import { readTenant } from '../tenants/tenants.js';
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
  const rootRoleid = (await readTenant(db, tenantid))?.root_roleid ?? null;
  await insertRole(db, {
    tenantid,
    login: NOBODY_LOGIN,
    name: 'anonymous visitors',
    passwordHash: null,
    parentid: rootRoleid,
    classes: [],
    capabilities: CAPABILITIES,
    creatorid: rootRoleid,
  });
}

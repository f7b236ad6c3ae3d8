import type { StatementRunner } from '../../db/sql/statementRunner.js';
import { ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
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
export async function ensureAnonymousRole(db: StatementRunner, tenantid: number): Promise<void> {
  if (await findLogin(db, tenantid, ANONYMOUS_LOGIN)) return;
  const rootRoleid = (await readTenant(db, tenantid))?.root_roleid ?? null;
  await insertRole(db, {
    tenantid,
    login: ANONYMOUS_LOGIN,
    name: 'anonymous clients',
    passwordHash: null,
    parentid: rootRoleid,
    classes: [],
    capabilities: CAPABILITIES,
    creatorid: rootRoleid,
  });
}

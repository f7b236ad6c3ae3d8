import { withInstallation } from '../process/compose.js';
import { hashPassword, requireStrongPassword } from '../control/roles/passwords.js';
import { INSTALLATION_TENANTID } from '../control/tenants/installation.js';
import { inTransaction } from '../db/pool/inTransaction.js';
import { ANONYMOUS_LOGIN } from '../db/roles/principal.js';
import { findLogin, setPassword } from '../control/roles/roles.js';
import { lockTenant } from '../control/lockTenant.js';
import { readTenant } from '../control/tenants/tenants.js';
import { UsageError } from '../foundation/errors.js';
import { ArgumentError, printJson, type Command } from './command.js';
import { readId, readOptions } from './options.js';
import { readPassword } from './readPassword.js';

/** Resets a lost password, notably pxadmin's (tenant 0). Revokes the role's tokens, like any password change. */
export const password: Command = async (args) => {
  const { tenantid, login } = readRole(args);
  const given = await readPassword('New password');
  return withInstallation(async ({ database: { pool } }) => {
    const [tenant, role] = await Promise.all([readTenant(pool, tenantid), findLogin(pool, tenantid, login)]);
    if (!tenant || !role) throw new UsageError(`tenant ${tenantid} has no role with the login "${login}"`);
    requireStrongPassword(given, [login, tenant.name]);
    const hash = await hashPassword(given);
    await inTransaction(pool, async (tx) => {
      await lockTenant(tx, tenantid);
      await setPassword(tx, tenantid, role.roleid, hash, role.roleid);
    });
    printJson({ tenantid, roleid: role.roleid });
  });
};

function readRole(args: readonly string[]): { readonly tenantid: number; readonly login: string } {
  const { tenant, login = '' } = readOptions(args, ['tenant', 'login']);
  const tenantid = readId(tenant, '--tenant takes the id of a tenant', INSTALLATION_TENANTID);
  if (login === '' || login === ANONYMOUS_LOGIN) throw new ArgumentError('--login takes the login of a role');
  return { tenantid, login };
}

import type { ControlDb } from '../../db/connection/database.js';
import { hashPassword, requireStrongPassword } from '../roles/passwords.js';
import { insertRole } from '../roles/roles.js';

/** The installation is tenant 0: it has a root role and no tables. */
export const INSTALLATION_TENANTID = 0;
const ROOT_LOGIN = 'pxadmin';

/**
 * Makes tenant 0 and its root role `pxadmin` when they are missing. Two processes at once: one makes them.
 * @param password undefined when none is configured; needed at the first start only.
 * @param hash for tests that make many installations
 * Throws AppError PASSWORD_TOO_WEAK.
 */
export async function ensureInstallation(
  db: ControlDb,
  password: string | undefined,
  hash = hashPassword,
): Promise<'exists' | 'created' | 'password-missing'> {
  return db.transaction(async (trx) => {
    await trx('rowpost.tenant')
      .insert({ tenantid: INSTALLATION_TENANTID, name: 'installation' })
      .onConflict('tenantid')
      .ignore();
    const tenant = await trx('rowpost.tenant')
      .where({ tenantid: INSTALLATION_TENANTID })
      .forUpdate()
      .first<{ root_roleid: number | null } | undefined>('root_roleid');
    if (tenant?.root_roleid != null) return 'exists';
    if (password === undefined) return 'password-missing';
    requireStrongPassword(password, [ROOT_LOGIN]);
    const roleid = await insertRole(trx, {
      tenantid: INSTALLATION_TENANTID,
      login: ROOT_LOGIN,
      name: 'installation root',
      passwordHash: await hash(password),
      parentid: null,
      classes: [],
      capabilities: [],
      creatorid: null,
    });
    await trx('rowpost.tenant').where({ tenantid: INSTALLATION_TENANTID }).update({ root_roleid: roleid });
    return 'created';
  });
}

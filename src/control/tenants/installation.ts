import type { ControlDb } from '../../db/pool/database.js';
import { hashPassword, requireStrongPassword } from '../roles/passwords.js';
import { insertRole } from '../roles/roles.js';

/** The installation is tenant 0, which has a root role but no tables. */
export const INSTALLATION_TENANTID = 0;
const ROOT_LOGIN = 'pxadmin';

/**
 * Creates tenant 0 and its root role `pxadmin` if they are missing; safe to run concurrently. Throws AppError
 * PASSWORD_TOO_WEAK.
 * @param password undefined if none is configured; only needed at the first start
 * @param hash for tests that create many installations
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

import type { Database } from '../../db/pool/database.js';
import { inTransaction } from '../../db/pool/inTransaction.js';
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
  pool: Database['pool'],
  password: string | undefined,
  hash = hashPassword,
): Promise<'exists' | 'created' | 'password-missing'> {
  return inTransaction(pool, async (client) => {
    await client.query(
      `insert into rowpost.tenant (tenantid, name) values (${INSTALLATION_TENANTID}, 'installation') on conflict (tenantid) do nothing`,
    );
    const { rows } = await client.query<{ root_roleid: number | null }>(
      `select root_roleid from rowpost.tenant where tenantid = ${INSTALLATION_TENANTID} for update`,
    );
    if (rows[0]?.root_roleid != null) return 'exists';
    if (password === undefined) return 'password-missing';
    requireStrongPassword(password, [ROOT_LOGIN]);
    const roleid = await insertRole(client, {
      tenantid: INSTALLATION_TENANTID,
      login: ROOT_LOGIN,
      name: 'installation root',
      passwordHash: await hash(password),
      parentid: null,
      classes: [],
      capabilities: [],
      creatorid: null,
    });
    await client.query(
      `update rowpost.tenant set root_roleid = $1 where tenantid = ${INSTALLATION_TENANTID}`,
      [roleid],
    );
    return 'created';
  });
}

import { ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, notFound, numericId, requireValue } from '../derive/badInput.js';
import type { Key } from '../derive/declaration.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';
import { isUsableProvider } from '../derive/references.js';
import { denied, requireCapability } from '../permissions.js';
import { endSessions } from '../roles/roles.js';
import { requireReauthenticated } from '../roles/reauthentication.js';
import { requireManageable } from '../roles/rolePermissions.js';
import { insertInto } from '../../db/sql/sql.js';
import { runSql } from '../../db/sql/statementRunner.js';

interface MappingInput {
  readonly roleid?: unknown;
  readonly confid?: unknown;
  readonly sub_id?: string | null;
  readonly current_password?: string | null;
}

/** Throws AppError NOT_FOUND for values that can't be a key. */
export function readMappingKey(
  _context: ControlContext,
  { roleid, confid }: Readonly<Record<string, unknown>>,
): Promise<Key> {
  return Promise.resolve(mappingKey(roleid, confid));
}

function mappingKey(roleid: unknown, confid: unknown): { readonly roleid: number; readonly confid: number } {
  return { roleid: numericId(String(roleid), 'role'), confid: numericId(String(confid), 'configuration') };
}

/** `create_role_oidc`. Throws AppError BAD_USER_INPUT, PERMISSION_DENIED, REAUTHENTICATION_REQUIRED, NOT_FOUND, OIDC_CONFID_NOT_FOUND, NAME_TAKEN. */
export async function createMapping(context: ControlContext, given: MappingInput): Promise<Key> {
  const { db, principal } = context;
  const key = mappingKey(requireValue(given.roleid, 'roleid'), requireValue(given.confid, 'confid'));
  const { roleid, confid } = key;
  const { tenantid, roleid: creatorid } = principal;
  const sub_id = requireValue(given.sub_id, 'sub_id');
  await authorize(context, key);
  if (roleid === principal.roleid) requireReauthenticated(context, 'identities');
  await requireConfig(context, confid);
  await mapUniqueViolation(
    runSql(db, insertInto('role_oidc', { tenantid, roleid, confid, sub_id, creatorid })),
    `Role ${roleid} is mapped through configuration ${confid} already: change it with update_role_oidc.`,
    { field: 'confid', roleid, confid },
    'A role has one identity in each configuration: change its sub_id with update_role_oidc.',
  );
  return key;
}

/** `update_role_oidc`. Throws AppError BAD_USER_INPUT, PERMISSION_DENIED, REAUTHENTICATION_REQUIRED, NOT_FOUND. */
export async function updateMapping(
  context: ControlContext,
  key: Key,
  given: MappingInput,
  find: () => Promise<object>,
): Promise<void> {
  for (const field of ['roleid', 'confid'] as const) {
    const value = given[field];
    if (value != null && value !== String(key[field]))
      throw badInput(field, `${field} can't be changed after creation.`);
  }
  const { db, principal } = context;
  await authorize(context, key);
  await find();
  if (given.sub_id === undefined) return;
  if (key['roleid'] === principal.roleid) requireReauthenticated(context, 'identities');
  const sub_id = requireValue(given.sub_id, 'sub_id');
  // Another identity is another mapping: who made it decides what becomes of it when the password changes.
  await db.query(
    `update rowpost.role_oidc set sub_id = $4, creatorid = $5, createtime = now()
     where tenantid = $1 and roleid = $2 and confid = $3`,
    [principal.tenantid, key['roleid'], key['confid'], sub_id, principal.roleid],
  );
  await endSessionsOfOther(context, Number(key['roleid']));
}

/** `delete_role_oidc`. Throws AppError PERMISSION_DENIED, NOT_FOUND. @returns the mapping as it was. */
export async function deleteMapping(
  context: ControlContext,
  key: Key,
  find: () => Promise<object>,
): Promise<object> {
  await authorize(context, key);
  const before = await find();
  await context.db.query(
    'delete from rowpost.role_oidc where tenantid = $1 and roleid = $2 and confid = $3',
    [context.principal.tenantid, key['roleid'], key['confid']],
  );
  await endSessionsOfOther(context, Number(key['roleid']));
  return before;
}

/** Whoever signed in with the identity is out. A role that changes its own goes on, unless it changes its password too. */
async function endSessionsOfOther({ db, principal }: ControlContext, roleid: number): Promise<void> {
  if (roleid !== principal.roleid) await endSessions(db, [roleid]);
}

/**
 * A role may map itself; one that may create roles may also map those whose password it could set, since both are ways to
 * sign in as the role. Throws AppError PERMISSION_DENIED, NOT_FOUND.
 */
async function authorize(context: ControlContext, { roleid, confid }: Key): Promise<void> {
  await requireMappable(context, Number(roleid));
  await requireNoProvisioning(context, Number(confid));
}

async function requireMappable(context: ControlContext, roleid: number): Promise<void> {
  const { principal } = context;
  if (roleid === principal.roleid) {
    if (principal.login === ANONYMOUS_LOGIN) throw denied('Anonymous clients have no identity.');
    return;
  }
  requireCapability(principal, 'create_role');
  const role = await requireManageable(context, roleid);
  if (role.deleted) throw notFound('role', roleid);
  if (role.login === ANONYMOUS_LOGIN) throw denied('Anonymous clients have no identity.');
}

/**
 * Where sign-ins make roles, the identity decides who somebody is: whoever could map one would have others sign in as a role of
 * theirs, or take seats, and whoever could remove their own would get a new role by each sign-in. Throws AppError PERMISSION_DENIED.
 */
async function requireNoProvisioning({ db, principal }: ControlContext, confid: number): Promise<void> {
  if (principal.isAdmin) return;
  const { tenantid } = principal;
  const { rows } = await db.query(
    'select from rowpost.oidc_provisioning where tenantid = $1 and confid = $2',
    [tenantid, confid],
  );
  if (rows.length > 0)
    throw denied(
      `Sign-ins through configuration ${confid} make roles, so only the tenant's root role and admins map its identities.`,
      { confid },
    );
}

/** Throws AppError OIDC_CONFID_NOT_FOUND. */
export async function requireConfig({ db, principal }: ControlContext, confid: number): Promise<void> {
  const { tenantid } = principal;
  const { rows } = await db.query('select from rowpost.oidc_config where tenantid = $1 and confid = $2', [
    tenantid,
    confid,
  ]);
  if (rows.length > 0) return;
  throw new AppError('OIDC_CONFID_NOT_FOUND', `There is no configuration ${confid}.`, {
    ...((await isUsableProvider(db, tenantid, confid)) ? { hint: PROVIDERID_GIVEN } : {}),
    details: { field: 'confid', confid },
  });
}

/** A hint. */
export const PROVIDERID_GIVEN =
  'This is the number of a provider: give the confid that create_oidc_config returned.';

import { createHash, randomBytes } from 'node:crypto';
import type { StatementRunner } from '../sql/statementRunner.js';
import { TOKENS_VALID_FROM_MS } from './principal.js';

/** In the path of the link. With 256 random bits it needs no slow hash. */
const FORMAT = /^([0-9]{1,9})-[\w-]{43}$/;
const RANDOM_BYTES = 32;
const DAYS = 7;
const RESET_HOURS = 1;
export const MAX_INVITATION_DAYS = 30;

/** Whose password the holder of a link may choose. */
export interface Invited {
  readonly tenantid: number;
  readonly tenantName: string;
  readonly roleid: number;
  readonly login: string;
  /** Who made the link; null if it was sent because the password was forgotten, or the maker is gone. */
  readonly creatorid: number | null;
  /** The link was sent because the password was forgotten. */
  readonly isReset: boolean;
}

/** The secret of a link. A front of several cells finds the tenant in it. */
export function makeInvitation(tenantid: number): string {
  return `${tenantid}-${randomBytes(RANDOM_BYTES).toString('base64url')}`;
}

/** @returns undefined for what no link has in it */
export function tenantOfInvitation(secret: string): number | undefined {
  const [, tenantid] = FORMAT.exec(secret) ?? [];
  return tenantid === undefined ? undefined : Number(tenantid);
}

/** Replaces the role's earlier one. Belongs to the state that the role is in. */
export async function insertInvitation(
  db: StatementRunner,
  {
    tenantid,
    roleid,
    secret,
    expires,
    creatorid,
  }: {
    readonly tenantid: number;
    readonly roleid: number;
    readonly secret: string;
    readonly expires: string | null;
    readonly creatorid: number;
  },
): Promise<void> {
  await db.query(
    `insert into rowpost.invitation (tenantid, roleid, link_hash, expires, creatorid, state_ms)
     select r.tenantid, r.roleid, $3, coalesce($4, now() + make_interval(days => ${DAYS})), $5, ${TOKENS_VALID_FROM_MS}
     from rowpost.role r where r.tenantid = $1 and r.roleid = $2
     on conflict (roleid) do update set link_hash = excluded.link_hash, expires = excluded.expires,
       creatorid = excluded.creatorid, createtime = now(), state_ms = excluded.state_ms`,
    [tenantid, roleid, hashOf(secret), expires, creatorid],
  );
}

/** Makes a link for a forgotten password, beside earlier ones. Belongs to the state that the role is in. */
export async function insertReset(
  db: StatementRunner,
  {
    tenantid,
    roleid,
    secret,
  }: { readonly tenantid: number; readonly roleid: number; readonly secret: string },
): Promise<void> {
  await db.query(
    `with expired as (delete from rowpost.password_reset where tenantid = $1 and expires <= now())
     insert into rowpost.password_reset (link_hash, tenantid, roleid, expires, state_ms)
     select $3, r.tenantid, r.roleid, now() + make_interval(hours => ${RESET_HOURS}), ${TOKENS_VALID_FROM_MS}
     from rowpost.role r where r.tenantid = $1 and r.roleid = $2`,
    [tenantid, roleid, hashOf(secret)],
  );
}

/**
 * By the secret of an invitation, or of a link for a forgotten password.
 * @returns undefined if it was used, replaced or deleted, has expired, or the role is not what it was then
 */
export async function findInvited(db: StatementRunner, secret: string): Promise<Invited | undefined> {
  const { rows } = await db.query<Invited>(
    `select i.tenantid, t.name as "tenantName", i.roleid, r.login, i.creatorid, i.is_reset as "isReset"
     from (
       select tenantid, roleid, link_hash, expires, state_ms, creatorid, false as is_reset from rowpost.invitation
       union all
       select tenantid, roleid, link_hash, expires, state_ms, null, true from rowpost.password_reset) i
       join rowpost.role r using (tenantid, roleid) join rowpost.tenant t using (tenantid)
     where i.link_hash = $1 and i.expires > now() and i.state_ms = ${TOKENS_VALID_FROM_MS} and not r.deleted
       and r.login is not null and not t.suspended`,
    [hashOf(secret)],
  );
  return rows[0];
}

/** Deletes all links to choose the password of a role. */
export async function deleteInvitations(
  db: StatementRunner,
  { tenantid, roleid }: Pick<Invited, 'tenantid' | 'roleid'>,
): Promise<void> {
  await db.query(
    `with resets as (delete from rowpost.password_reset where tenantid = $1 and roleid = $2)
     delete from rowpost.invitation where tenantid = $1 and roleid = $2`,
    [tenantid, roleid],
  );
}

function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

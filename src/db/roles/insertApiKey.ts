import type { StatementRunner } from '../sql/statementRunner.js';
import { MAX_API_KEYS } from './apiKeys.js';
import { TOKENS_VALID_FROM_MS } from './principal.js';

export interface NewApiKey {
  readonly tenantid: number;
  readonly roleid: number;
  readonly name: string;
  readonly hash: string;
  /** How it begins and ends. */
  readonly hint: string;
  readonly capabilities: readonly string[] | null;
  readonly expires: string | null;
  readonly creatorid: number;
}

/** All keys of a role are read with it, each second: as many expired ones are kept, for people to see, and others deleted, in parts. */
const MAX_EXPIRED_KEYS = 20;
const DELETED_AT_ONCE = 1_000;

/** Belongs to the state that the role is in. @returns its id; undefined if the role has too many */
export async function insertApiKey(db: StatementRunner, key: NewApiKey): Promise<string | undefined> {
  const { tenantid, roleid, name, hash, hint, capabilities, expires, creatorid } = key;
  const { rows } = await db.query<{ keyid: string }>(
    `with forgotten as (
       delete from rowpost.api_key where keyid in (
         select k.keyid from rowpost.api_key k where k.tenantid = $1 and k.roleid = $2 and k.expires <= now()
         order by k.expires desc offset ${MAX_EXPIRED_KEYS} limit ${DELETED_AT_ONCE})
     )
     insert into rowpost.api_key (tenantid, roleid, name, key_hash, hint, capabilities, expires, creatorid, state_ms)
     select $1, r.roleid, $3, decode($4, 'hex'), $5, $6, $7, $8, ${TOKENS_VALID_FROM_MS}
     from rowpost.role r
     where r.tenantid = $1 and r.roleid = $2 and $9 > (
       select count(*) from rowpost.api_key k where k.roleid = r.roleid and (k.expires is null or k.expires > now()))
     returning keyid`,
    [tenantid, roleid, name, hash, hint, capabilities, expires, creatorid, MAX_API_KEYS],
  );
  return rows[0]?.keyid;
}

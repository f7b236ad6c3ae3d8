/** A key by which a program acts as a role. */
export interface ApiKey {
  readonly keyid: string;
  /** SHA-256, in hexadecimal. */
  readonly hash: string;
  /** Those of the role that it has; null for all that the role may do. */
  readonly capabilities: readonly string[] | null;
  /** Milliseconds since the epoch; null for never. */
  readonly expiresMs: number | null;
  /** `Principal.tokensValidFromMs` when it was made: what ends the role's sessions ends its keys. */
  readonly stateMs: number;
}

/** Of one role: all are read with it. */
export const MAX_API_KEYS = 20;

/** A JSON array of the keys of a row of `rowpost.role`, as `r`, that have not expired. */
export const API_KEYS = `coalesce((
  select json_agg(json_build_object('keyid', k.keyid, 'hash', encode(k.key_hash, 'hex'), 'capabilities', k.capabilities,
    'expiresMs', extract(epoch from k.expires)::float8 * 1000, 'stateMs', k.state_ms))
  from rowpost.api_key k where k.roleid = r.roleid and (k.expires is null or k.expires > now())), '[]')`;

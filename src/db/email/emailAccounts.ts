import type { Pool } from 'pg';
import type { KeyRing } from '../../config/secrets.js';
import { resumeTenant } from '../ledger/pause.js';
import { assignments, insertInto, sql } from '../sql/sql.js';
import { runSql, type StatementRunner } from '../sql/statementRunner.js';

/** What a tenant sends by. */
export interface EncryptedAccounts {
  /** SendGrid's key; empty without one. */
  readonly apikeyEncrypted: string;
  /** Null for SendGrid alone. */
  readonly accountsEncrypted: string | null;
}

/**
 * Sets some of what a tenant sends by, keeps the rest, and resumes the tenant's deliveries. Its version distinguishes
 * responses to requests made with older accounts. Pass a transaction.
 */
export async function storeAccounts(
  db: StatementRunner,
  keyRing: KeyRing,
  given: {
    readonly tenantid: number;
    readonly setBy: number;
    /** SendGrid's key. */
    readonly apikey?: string;
    /** JSON; null for SendGrid alone. */
    readonly transports?: string | null;
    /** 0 for no limit. */
    readonly emailsPerSecond: number;
  },
): Promise<void> {
  const { tenantid, setBy, apikey, transports, emailsPerSecond } = given;
  const values = {
    set_by: setBy,
    ...(apikey !== undefined && { apikey_encrypted: keyRing.encrypt(apikey, emailApiKeyContext(tenantid)) }),
    ...(transports !== undefined && {
      accounts_encrypted:
        transports === null ? null : keyRing.encrypt(transports, emailTransportsContext(tenantid)),
    }),
  };
  await runSql(
    db,
    sql`${insertInto('email_apikey', { apikey_encrypted: '', ...values, tenantid })}
      on conflict (tenantid) do update
      set ${assignments(values)}, version = email_apikey.version + 1, set_time = now()`,
  );
  await resumeTenant(db, tenantid, emailsPerSecond);
}

export interface AccountsNow extends EncryptedAccounts {
  /** Why the tenant is paused. */
  readonly pausedCode: string | null;
  readonly pausedReason: string | null;
  /** Time left until the carrier accepts requests again; 0 if not rate limited. */
  readonly waitMs: number;
  /** ISO 8601 */
  readonly setTime: string;
}

/** @returns undefined when the tenant has set neither key nor account */
export async function readAccounts(db: StatementRunner, tenantid: number): Promise<AccountsNow | undefined> {
  const { rows } = await db.query<AccountsNow>(
    `select apikey_encrypted as "apikeyEncrypted", accounts_encrypted as "accountsEncrypted", paused_code as "pausedCode",
       paused_reason as "pausedReason", to_json(set_time) #>> '{}' as "setTime",
       coalesce(greatest(extract(epoch from wait_until - now()), 0), 0)::float8 * 1000 as "waitMs"
     from rowpost.email_apikey where tenantid = $1`,
    [tenantid],
  );
  return rows[0];
}

/** Of all tenants that have set a key or an account. */
export async function readAllAccounts(
  db: StatementRunner,
): Promise<readonly (EncryptedAccounts & { readonly tenantid: number })[]> {
  const { rows } = await db.query<EncryptedAccounts & { readonly tenantid: number }>(
    `select tenantid, apikey_encrypted as "apikeyEncrypted", accounts_encrypted as "accountsEncrypted"
     from rowpost.email_apikey order by tenantid`,
  );
  return rows;
}

export interface KeyStates {
  /** How many tenants have an account. */
  readonly tenants: number;
  /** Those whose account the carrier refused, or which are out of credit. */
  readonly paused: readonly number[];
}

export async function readKeyStates(pool: Pool): Promise<KeyStates> {
  const { rows } = await pool.query<KeyStates>(
    `select count(*)::int as tenants,
       coalesce(array_agg(tenantid order by tenantid) filter (where paused_code is not null), '{}') as paused
     from rowpost.email_apikey`,
  );
  return rows[0] ?? { tenants: 0, paused: [] };
}

// Encryption contexts: a ciphertext decrypts for its own tenant only.
export const emailApiKeyContext = (tenantid: number): string => `email_apikey:${tenantid}`;
export const emailTransportsContext = (tenantid: number): string => `email_transports:${tenantid}`;

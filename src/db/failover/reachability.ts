import type { Pool } from 'pg';
import { poolerRefusesOptions, type AddressSetting } from '../pool/pooler.js';
import { UsageError } from '../../foundation/errors.js';
import { quoted } from '../sql/sql.js';
import { ownValue } from '../../foundation/ownValue.js';
import { networkWaitMs, NotReadyError } from '../../foundation/lifecycle/startup.js';

const OLDEST_SERVER_VERSION = 150_000;

/**
 * Explanations of PostgreSQL's refusals for the operator, who knows the address by its setting; by SQLSTATE and, where that has
 * several causes, the function of PostgreSQL that refused, since messages may be in any language.
 */
const REFUSALS: Readonly<Record<string, string>> = {
  '42501':
    'The database role <role> of <setting> may not connect: grant connect on database <database> to <role>.',
  '28P01': 'PostgreSQL refuses the user or the password of <setting>.',
  '28000': 'PostgreSQL does not let the user of <setting> in: see its pg_hba.conf.',
  '28000 InitializeSessionUserId':
    'The database role <role> of <setting> does not exist, or may not log in: alter role <role> login.',
  '3D000': 'PostgreSQL has no such database as <setting> names.',
  '53300': 'PostgreSQL has no connection left: raise its max_connections, or lower PG_POOL.',
  '53300 InitializeSessionUserId':
    'The database role <role> has no connection left: raise its limit with alter role <role> connection limit, or lower PG_POOL.',
  '53300 CheckMyDatabase':
    'The database <database> has no connection left: raise its limit with alter database <database> connection limit, or lower PG_POOL.',
  '55000':
    'The database of <setting> accepts no connections: alter database <database> allow_connections true.',
  '57P01': 'PostgreSQL is shutting down.',
  '57P03': 'PostgreSQL is starting up or recovering.',
  NO_PRIMARY: 'No server of DATABASE_URL accepts writes.',
  NO_TLS: 'PostgreSQL offers no TLS, as <setting> demands: see its ssl, or the sslmode in <setting>.',
  EPASSWORD: 'DATABASE_PASSWORD_COMMAND fails, prints nothing or takes more than 10 seconds.',
};

/** pg gives it no code. */
const NO_TLS_MESSAGE = 'The server does not support SSL connections';
/** As Node.js names what is wrong with a certificate. */
const CERTIFICATE_CODES = /^(?:ERR_TLS_CERT|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/;

/** Causes other than the network that may be temporary. */
const TRANSIENT: ReadonlySet<string> = new Set([
  '53300', // too many connections
  '57P01', // shutting down
  '57P03', // starting up, or in recovery
  'NO_PRIMARY',
]);

/** Throws UsageError, whose message contains neither host nor password; NotReadyError if waiting may help. */
export async function requireReachable(pool: Pool, setting: AddressSetting = 'DATABASE_URL'): Promise<void> {
  try {
    const { rows } = await pool.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    );
    const version = Number(rows[0]?.version);
    if (version >= OLDEST_SERVER_VERSION) return;
    throw new UsageError(
      `PostgreSQL ${Math.floor(version / 10_000)} is too old. Set ${setting} to a PostgreSQL 15 or newer.`,
    );
  } catch (error) {
    if (error instanceof UsageError) throw error;
    const {
      message,
      routine = '',
      code = message === NO_TLS_MESSAGE ? 'NO_TLS' : undefined,
    } = error as { code?: unknown; message?: unknown; routine?: string };
    if (code === '08P01' && String(message).includes('startup parameter')) {
      throw new UsageError(poolerRefusesOptions(setting));
    }
    const hint = `Is it running? Its own log says why not. Otherwise correct ${setting}.`;
    if (typeof code !== 'string')
      throw new NotReadyError(`PostgreSQL is not responding. ${hint}`, 'postgres');
    if (CERTIFICATE_CODES.test(code)) {
      throw new UsageError(
        `PostgreSQL's certificate is not accepted (${code}): add sslrootcert=<file with its CA> to ${setting}, and use a host that it names.`,
      );
    }
    const { user = '…', database = '…' } = pool.options;
    const says =
      (ownValue(REFUSALS, `${code} ${routine}`) ?? ownValue(REFUSALS, code))
        ?.replaceAll('<setting>', setting)
        .replaceAll('<role>', quoted(user))
        .replaceAll('<database>', quoted(database)) ?? `PostgreSQL is not responding (${code}). ${hint}`;
    const maxWaitMs = TRANSIENT.has(code) ? Infinity : networkWaitMs(code);
    throw maxWaitMs === undefined ? new UsageError(says) : new NotReadyError(says, 'postgres', maxWaitMs);
  }
}

/** What a reachable PostgreSQL reports about itself. */
export interface ServerFacts {
  /** As 17.2. */
  readonly version: string;
  readonly roundTripMs: number;
  /** How far its clock is ahead of ours, accurate to half a round trip. */
  readonly clockDifferenceMs: number;
  /** A standby, or a server that was told to accept no writes. */
  readonly readOnly: boolean;
}

export async function readServerFacts(pool: Pool): Promise<ServerFacts> {
  // The first query may open a connection.
  await pool.query('select');
  const [startedAt, startedAtMs] = [performance.now(), Date.now()];
  const { rows } = await pool.query<{ version: string; clock: number; read_only: boolean }>(
    `select current_setting('server_version') as version, extract(epoch from clock_timestamp())::float8 * 1000 as clock,
       current_setting('transaction_read_only')::boolean as read_only`,
  );
  const roundTripMs = performance.now() - startedAt;
  const { version = '', clock = 0, read_only: readOnly = false } = rows[0] ?? {};
  return {
    version: version.split(' ', 1)[0] ?? '',
    roundTripMs,
    clockDifferenceMs: clock - (startedAtMs + roundTripMs / 2),
    readOnly,
  };
}

/**
 * Rejects while PostgreSQL is away or accepts no writes. Asks in both ways: of a pooler and PostgreSQL itself, either may be
 * out of reach; and a server that is full makes no connection, but keeps those that it has.
 */
export async function requireWritable(pools: {
  readonly pool: Pool;
  readonly ledgerPool: Pool;
}): Promise<void> {
  const ask = async (pool: Pool): Promise<void> => {
    const { rows } = await pool.query<{ setting: string }>(
      `select current_setting('transaction_read_only') as setting`,
    );
    if (rows[0]?.setting !== 'off') throw new Error('PostgreSQL accepts no writes');
  };
  await Promise.all([ask(pools.pool), ask(pools.ledgerPool)]);
}

/** More than existing files may have free. */
const PROBE_BYTES = 2 ** 20;

/** Writes a table and rolls back. Throws what PostgreSQL throws. */
export async function probeWrites(pool: Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query('create unlogged table rowpost.write_probe (bytes text)');
    await client.query('alter table rowpost.write_probe alter bytes set storage external');
    await client.query(`insert into rowpost.write_probe select repeat('x', ${PROBE_BYTES})`);
  } finally {
    await client.query('rollback').finally(() => client.release());
  }
}

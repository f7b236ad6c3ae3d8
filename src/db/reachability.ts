import type { Pool } from 'pg';

const OLDEST_SERVER_VERSION = 150_000;

/** What PostgreSQL's own refusals mean for the operator. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'PostgreSQL refuses the user or the password.',
  '28000': 'PostgreSQL does not let this user in.',
  '3D000': 'PostgreSQL has no such database.',
  '53300': 'PostgreSQL has no connection left.',
  NO_PRIMARY: 'No server of DATABASE_URL accepts writes.',
};

/** @returns what is wrong with the way to PostgreSQL, in one sentence without host or password; undefined when all is well. */
export async function describeReachability(pool: Pool): Promise<string | undefined> {
  try {
    const { rows } = await pool.query<{ version: string }>(
      `select current_setting('server_version_num') as version`,
    );
    const version = Number(rows[0]?.version);
    if (version < OLDEST_SERVER_VERSION) return `PostgreSQL ${Math.floor(version / 10_000)} is too old.`;
    return undefined;
  } catch (error) {
    const code = (error as { code?: unknown }).code;
    if (typeof code !== 'string') return 'PostgreSQL does not answer.';
    return REFUSALS[code] ?? `PostgreSQL does not answer (${code}).`;
  }
}

/** What a PostgreSQL that answers says of itself. */
export interface ServerFacts {
  /** As 17.2. */
  readonly version: string;
  readonly roundTripMs: number;
  /** How far its clock is ahead of ours; exact to half a round trip. */
  readonly clockDifferenceMs: number;
}

export async function readServerFacts(pool: Pool): Promise<ServerFacts> {
  // The first query may open a connection.
  await pool.query('select');
  const [startedAt, startedAtMs] = [performance.now(), Date.now()];
  const { rows } = await pool.query<{ version: string; clock: number }>(
    `select current_setting('server_version') as version, extract(epoch from clock_timestamp())::float8 * 1000 as clock`,
  );
  const roundTripMs = performance.now() - startedAt;
  const { version = '', clock = 0 } = rows[0] ?? {};
  return {
    version: version.split(' ', 1)[0] ?? '',
    roundTripMs,
    clockDifferenceMs: clock - (startedAtMs + roundTripMs / 2),
  };
}

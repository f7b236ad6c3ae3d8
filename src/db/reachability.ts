import type { Pool } from 'pg';

const OLDEST_SERVER_VERSION = 150_000;

/** What PostgreSQL's own refusals mean for the operator. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'PostgreSQL refuses the user or the password.',
  '28000': 'PostgreSQL does not let this user in.',
  '3D000': 'PostgreSQL has no such database.',
  '53300': 'PostgreSQL has no connection left.',
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

import type { Knex } from 'knex';

/** @param tokenHash SHA-256 of the session's token */
export async function isSessionEnded(knex: Knex, tokenHash: Buffer): Promise<boolean> {
  const row: unknown = await knex('rowpost.ended_session').where({ token_hash: tokenHash }).first('tenantid');
  return row !== undefined;
}

interface EndedSession {
  readonly tokenHash: Buffer;
  readonly tenantid: number;
  /** When its token would have expired. */
  readonly expiresAtMs: number;
}

/** Kept for longer than needed, because clocks differ. */
const MARGIN_MS = 3_600_000;

/** Ends a session on every process. Those whose tokens have expired are forgotten. */
export async function endSession(
  knex: Knex,
  { tokenHash, tenantid, expiresAtMs }: EndedSession,
): Promise<void> {
  await knex('rowpost.ended_session').where('expires', '<', knex.fn.now()).delete();
  await knex('rowpost.ended_session')
    .insert({ token_hash: tokenHash, tenantid, expires: new Date(expiresAtMs + MARGIN_MS) })
    .onConflict('token_hash')
    .ignore();
}

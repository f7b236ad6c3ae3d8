import type { StatementRunner } from '../../db/sql/statementRunner.js';
import type { Principal } from '../../db/roles/principal.js';
import type { ControlEngineDeps, ControlOptions } from '../controlContext.js';
import { isUsableProvider } from '../derive/references.js';
import type { MutationInput } from '../request/mutationInputs.js';

const CHOOSING: ReadonlySet<string> = new Set(['create_oidc_config', 'update_oidc_config']);
/** Each may take as long as the provider. */
const MAX_PROVIDERS = 3;

/**
 * Reads the discovery documents of the providers of new configurations, where these decide the redirect URI. Called before the
 * transaction, because a provider may be slow; one that is not responding promises nothing.
 */
export async function learnProviders(
  { database: { pool } }: Pick<ControlEngineDeps, 'database'>,
  { tenantid, isRoot }: Principal,
  { learnProvider }: ControlOptions,
  inputs: readonly MutationInput[],
): Promise<void> {
  if (!learnProvider || !isRoot) return;
  const given = inputs
    .filter(({ mutation }) => CHOOSING.has(mutation))
    .map(({ input }) => input['providerid']);
  for (const providerid of [...new Set(given)].slice(0, MAX_PROVIDERS)) {
    if (typeof providerid !== 'number') continue;
    if (await isUnknown(pool, tenantid, providerid)) await learnProvider(providerid);
  }
}

/** Whether what the provider's discovery document promises decides the redirect URI of a new configuration. */
async function isUnknown(db: StatementRunner, tenantid: number, providerid: number): Promise<boolean> {
  if (!(await isUsableProvider(db, tenantid, providerid))) return false;
  const { rows } = await db.query<{ unknown: boolean }>(
    `select sends_iss is null and rowpost.is_plain_redirect_taken(token_uri, null) as unknown
     from rowpost.oidc_providers where providerid = $1`,
    [providerid],
  );
  return rows[0]?.unknown === true;
}

import type { ControlDb } from '../../db/connection/database.js';
import type { Principal } from '../../db/principal.js';
import type { ControlEngineDeps, ControlOptions } from '../controlContext.js';
import { readRow } from '../object/rows.js';
import { isUsableProvider } from '../object/references.js';
import { oidcProviders, type OidcProvider } from '../objects/oidcProviders.js';
import type { MutationInput } from '../request/mutationInputs.js';

const CHOOSING: ReadonlySet<string> = new Set(['create_oidc_config', 'update_oidc_config']);
/** Each may take as long as the provider. */
const MAX_PROVIDERS = 3;

/**
 * Looks at the discovery documents of the providers of new configurations, where these decide the redirect URI. Before the
 * transaction, because a provider may be slow; one that gives no answer promises nothing.
 */
export async function learnProviders(
  { database: { knex } }: Pick<ControlEngineDeps, 'database'>,
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
    const provider = await findUnknownProvider(knex, tenantid, providerid);
    if (provider) await learnProvider(provider);
  }
}

/** The provider, if what its discovery document promises decides the redirect URI of a new configuration. */
async function findUnknownProvider(
  db: ControlDb,
  tenantid: number,
  providerid: number,
): Promise<OidcProvider | undefined> {
  if (!(await isUsableProvider(db, tenantid, providerid))) return undefined;
  const provider = await readRow(db, oidcProviders, { providerid });
  if (provider?.sends_iss !== null) return undefined;
  const { rows } = await db.raw<{ rows: { taken: boolean }[] }>(
    'select rowpost.is_plain_redirect_taken(?, null) as taken',
    [provider.token_uri],
  );
  return rows[0]?.taken === true ? provider : undefined;
}

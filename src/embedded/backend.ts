import type { Config } from '../config/config.js';
import type { Logger } from '../foundation/observability/log.js';
import type { KeyRing } from '../config/secrets.js';
import type { Stoppable } from '../foundation/lifecycle/shutdown.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './postgres.js';
import { embeddedSecrets } from './secrets.js';

/** The database and keys of an installation without settings. */
export interface EmbeddedBackend extends Stoppable {
  readonly databaseUrl: string;
  readonly keyRing: KeyRing;
  readonly pxadminPassword: string;
}

/** The embedded PostgreSQL and generated secrets, each overridden by its setting. */
export async function openEmbeddedBackend(config: Config, log: Logger): Promise<EmbeddedBackend> {
  const secrets = await embeddedSecrets(config.dataDir);
  if (secrets.pxadminPasswordIsNew && config.pxadminPassword === undefined) {
    // Printed once but not logged, because logs are kept and copied.
    process.stderr.write(
      `The password of pxadmin, of tenant 0, is ${secrets.pxadminPassword} (kept in ${secrets.pxadminPasswordFile}).\n`,
    );
  }
  const postgres =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, say: (line) => log.info(line) })
      : externalDatabase(config.databaseUrl);
  if (!postgres.owned) log.info('using a PostgreSQL that is already running');
  return {
    databaseUrl: postgres.url,
    keyRing: config.secretKeys ?? secrets.keyRing,
    pxadminPassword: config.pxadminPassword ?? secrets.pxadminPassword,
    stop: () => postgres.stop(),
  };
}

function externalDatabase(url: string): EmbeddedPostgres {
  return { url, owned: true, stop: () => Promise.resolve() };
}

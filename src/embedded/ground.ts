import type { Config } from '../config.js';
import type { Logger } from '../log.js';
import type { KeyRing } from '../secrets.js';
import type { Stoppable } from '../shutdown.js';
import { startEmbeddedPostgres, type EmbeddedPostgres } from './postgres.js';
import { embeddedSecrets } from './secrets.js';

/** What an installation without settings stands on. */
export interface EmbeddedGround extends Stoppable {
  readonly databaseUrl: string;
  readonly keyRing: KeyRing;
  readonly pxadminPassword: string;
}

/** The embedded PostgreSQL and generated secrets; whatever the settings give is taken instead. */
export async function openEmbeddedGround(config: Config, log: Logger): Promise<EmbeddedGround> {
  const secrets = await embeddedSecrets(config.dataDir);
  if (secrets.pxadminPasswordIsNew && config.pxadminPassword === undefined) {
    // Printed this once, and not through the log: logs are kept and copied.
    process.stderr.write(
      `The password of pxadmin is ${secrets.pxadminPassword} (kept in ${secrets.pxadminPasswordFile}).\n`,
    );
  }
  const postgres =
    config.databaseUrl === undefined
      ? await startEmbeddedPostgres({ dataDir: config.dataDir, say: (line) => log.info(line) })
      : givenDatabase(config.databaseUrl);
  if (!postgres.owned) log.info('using a PostgreSQL that is running already');
  return {
    databaseUrl: postgres.url,
    keyRing: config.secretKeys ?? secrets.keyRing,
    pxadminPassword: config.pxadminPassword ?? secrets.pxadminPassword,
    stop: () => postgres.stop(),
  };
}

function givenDatabase(url: string): EmbeddedPostgres {
  return { url, owned: true, stop: () => Promise.resolve() };
}

import type { Clock } from '../foundation/clock.js';
import type { Config } from '../config/config.js';
import type { Database } from '../db/pool/database.js';
import type { PrincipalSource } from '../db/roles/principal.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../foundation/observability/log.js';
import type { KeyRing } from '../config/secrets.js';

/** What all parts of a process share; created once by `compose.ts`. */
export interface Services {
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly database: Database;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  /** The tenants' tables. */
  readonly engine: DataEngine;
}

import type { Clock } from '../clock.js';
import type { Config } from '../config.js';
import type { Database } from '../db/connection/database.js';
import type { Principal, PrincipalSource } from '../db/principal.js';
import type { ControlEngine } from '../control/controlEngine.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../log.js';
import type { KeyRing } from '../secrets.js';
import type { SchemaDescription } from './auth/authBody.js';
import type { FileDeps } from './files/fileDeps.js';
import type { GraphqlExecutor } from './graphqlEndpoint.js';
import type { HealthCheck } from './health.js';

/** Dependencies of the web process. */
export interface WebDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  /** The tenants' tables: `/query`. */
  readonly engine: FileDeps['engine'] &
    Pick<DataEngine, 'answers' | 'planning'> &
    GraphqlExecutor & {
      describe(tenantid: number, schema: string, principal?: Principal): Promise<SchemaDescription>;
    };
  /** The control objects: `/roles_pbac`. */
  readonly control: ControlEngine;
  /** Health checks of `/readyz`, by name. */
  readonly checks: Readonly<Record<string, HealthCheck>>;
}

import type { Clock } from '../../clock.js';
import type { Config } from '../../config.js';
import type { Database } from '../../db/connection/database.js';
import type { PrincipalSource } from '../../db/principal.js';
import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { DataEngine } from '../../graphql/dataEngine.js';
import type { Logger } from '../../log.js';
import type { KeyRing } from '../../secrets.js';
import type { ObjectLeases } from './objectLeases.js';

/** Dependencies of file uploads and downloads. */
export interface FileDeps {
  readonly database: Database;
  readonly config: Config;
  readonly log: Logger;
  readonly clock: Clock;
  readonly keyRing: KeyRing;
  readonly principals: PrincipalSource;
  readonly engine: Pick<DataEngine, 'requireFileRow' | 'recordFile'>;
  readonly storage: FileStorage;
  readonly leases: ObjectLeases;
}

import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Services } from '../../services.js';
import type { ObjectLeases } from './objectLeases.js';

export interface FileDeps extends Omit<Services, 'engine'> {
  readonly engine: Pick<Services['engine'], 'requireFileRow' | 'recordFile'>;
  readonly storage: FileStorage;
  readonly leases: ObjectLeases;
}

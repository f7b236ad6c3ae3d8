import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import type { FileLink } from '../../files/fileLinks.js';
import type { FileStorage } from '../../files/storage/fileStorage.js';
import type { Services } from '../../control/services.js';
import { requireActiveTenant } from '../auth/authenticate.js';
import { findHolder, findSender } from '../auth/findHolder.js';
import type { UnidentifiedTurns } from '../http/unidentifiedTurns.js';
import type { ObjectLeases } from './objectLeases.js';
import type { Transfers } from './transfers.js';

export interface FileDeps extends Omit<Services, 'engine'> {
  readonly engine: Pick<Services['engine'], 'requireFileRow' | 'recordFile'>;
  readonly storage: FileStorage;
  readonly leases: ObjectLeases;
  readonly transfers: Transfers;
  /** On connections of `database.pool`, because anybody may have a URL. */
  readonly turns: Pick<UnidentifiedTurns, 'run'>;
}

/** With its current permissions. Throws AppError FILE_URL_INVALID, TENANT_SUSPENDED. */
export async function requirePrincipal({ principals }: FileDeps, link: FileLink): Promise<Principal> {
  const find = link.isForEmail ? findSender : findHolder;
  const principal = await find(principals, { ...link, tokensValidFromMs: link.sinceMs });
  if (!principal) {
    throw new AppError(
      'FILE_URL_INVALID',
      'The role that the URL was issued to no longer exists, or its sessions have ended.',
      {
        hint: 'Request a new URL: upload_<table> for an upload, thefiles for a download.',
      },
    );
  }
  requireActiveTenant(principal);
  return principal;
}

import type { Config } from '../../config/config.js';
import type { Database } from '../../db/pool/database.js';
import { openStorage } from '../../files/storage/openStorage.js';
import { createCarriers } from './carriers.js';
import { createMailboxCarrier } from '../message/mailbox.js';
import type { EmailTransport } from './sending.js';

/** The account that the installation is configured with. */
export function openCarriers(config: Config, database: Database): EmailTransport {
  if (config.mailTransport === 'mailbox') return createMailboxCarrier(database);
  return createCarriers({
    ...config,
    smtpAllowPrivateNetwork: config.smtpAllowPrivateNetwork || !config.production,
    hostname: new URL(config.baseUrl).hostname,
    storage: openStorage(config),
  });
}

import type { Config } from '../../config/config.js';
import type { Database } from '../../db/pool/database.js';
import { openStorage } from '../../files/storage/openStorage.js';
import { createCarriers } from './carriers.js';
import { createMailboxTransport } from '../message/mailbox.js';
import type { EmailTransport } from './transport.js';

/** The transport that the installation is configured with. */
export function createTransport(config: Config, database: Database): EmailTransport {
  if (config.mailTransport === 'mailbox') return createMailboxTransport(database);
  return createCarriers({
    ...config,
    smtpAllowPrivateNetwork: config.smtpAllowPrivateNetwork || !config.production,
    hostname: new URL(config.baseUrl).hostname,
    storage: openStorage(config),
  });
}

import type { Config } from '../../config.js';
import type { Database } from '../../db/connection/database.js';
import { openStorage } from '../../files/storage/openStorage.js';
import { createMailboxTransport } from './mailbox.js';
import { createSendgridTransport } from './sendgrid.js';
import type { MailTransport } from './transport.js';

/** The transport that the installation is configured with. */
export function createTransport(config: Config, database: Database): MailTransport {
  return config.mailTransport === 'mailbox'
    ? createMailboxTransport(database)
    : createSendgridTransport({ baseUrl: config.sendgridBaseUrl, storage: openStorage(config) });
}

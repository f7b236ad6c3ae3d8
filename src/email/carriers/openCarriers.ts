import type { Config } from '../../config/config.js';
import { reserveCall } from '../../db/ledger/nextCall.js';
import type { Database } from '../../db/pool/database.js';
import { openStorage } from '../../files/storage/openStorage.js';
import { createCarriers } from './createCarriers.js';
import { createMailboxCarrier } from './mailbox/mailbox.js';
import type { Carriers } from './sending.js';

/** The carriers, or the mailbox where `MAIL_TRANSPORT` says so. */
export function openCarriers(config: Config, database: Database): Carriers {
  if (config.mailTransport === 'mailbox') return createMailboxCarrier(database);
  return createCarriers({
    ...config,
    smtpAllowPrivateNetwork: config.smtpAllowPrivateNetwork || !config.production,
    hostname: new URL(config.baseUrl).hostname,
    storage: openStorage(config),
    reserveCall: (tenantid, intervalMs) => reserveCall(database.ledger, tenantid, intervalMs),
  });
}

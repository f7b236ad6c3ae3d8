import type { ControlDb } from '../../db/database.js';
import { readRow, readRows } from '../object/storedRows.js';

/** A delivery as the API shows it. */
export interface EmailDeliveryRow {
  readonly deliveryid: number;
  readonly state: string;
}

export interface EmailAttemptRow {
  readonly attempt: number;
  readonly outcome: string;
}

export interface EmailEventRow {
  readonly event: string;
  readonly time: string;
}

const DELIVERY_COLUMNS = `deliveryid, ruleid, email_type, operation, target, key, state, attempts, recipients, subject,
  provider_message_id, error_code, error, createtime, next_attempt, sent_time`;

/** @returns undefined when the tenant has no such delivery. */
export function readEmailDelivery(
  knex: ControlDb,
  tenantid: number,
  deliveryid: string,
): Promise<EmailDeliveryRow | undefined> {
  return readRow<EmailDeliveryRow>(knex, 'email_delivery', DELIVERY_COLUMNS, { tenantid, deliveryid });
}

/** The history of a delivery, oldest first. */
export function readEmailAttempts(
  knex: ControlDb,
  tenantid: number,
  deliveryid: string,
): Promise<readonly EmailAttemptRow[]> {
  const columns = 'attempt, started, finished, outcome, http_status, error';
  return readRows<EmailAttemptRow>(knex, 'email_attempt', columns, { tenantid, deliveryid }, 'attempt');
}

/** What the provider reported of a delivery, in the order in which it happened. */
export function readEmailEvents(
  knex: ControlDb,
  tenantid: number,
  deliveryid: string,
): Promise<readonly EmailEventRow[]> {
  const columns = 'event, time, recipient, reason, status, type, url';
  const order = 'time, provider_event_id';
  return readRows<EmailEventRow>(knex, 'email_event', columns, { tenantid, deliveryid }, order);
}

import type { Knex } from 'knex';
import { readAsJson } from './stored.js';

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
export async function readEmailDelivery(
  knex: Knex,
  tenantid: number,
  deliveryid: string,
): Promise<EmailDeliveryRow | undefined> {
  const [row] = await readAsJson<EmailDeliveryRow>(
    knex,
    {
      columns: DELIVERY_COLUMNS,
      table: 'email_delivery',
      where: 'tenantid = ? and deliveryid = ?',
      order: 'deliveryid',
    },
    [tenantid, deliveryid],
  );
  return row;
}

/** The history of a delivery, oldest first. */
export function readEmailAttempts(
  knex: Knex,
  tenantid: number,
  deliveryid: string,
): Promise<readonly EmailAttemptRow[]> {
  return readAsJson<EmailAttemptRow>(
    knex,
    {
      columns: 'attempt, started, finished, outcome, http_status, error',
      table: 'email_attempt',
      where: 'tenantid = ? and deliveryid = ?',
      order: 'attempt',
    },
    [tenantid, deliveryid],
  );
}

/** What the provider reported of a delivery, in the order in which it happened. */
export function readEmailEvents(
  knex: Knex,
  tenantid: number,
  deliveryid: string,
): Promise<readonly EmailEventRow[]> {
  return readAsJson<EmailEventRow>(
    knex,
    {
      columns: 'event, time, recipient, reason, status, type, url',
      table: 'email_event',
      where: 'tenantid = ? and deliveryid = ?',
      order: 'time, provider_event_id',
    },
    [tenantid, deliveryid],
  );
}

import { createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import type { Database } from '../../src/db/pool/database.js';

/** SendGrid's side of the event webhook: it signs reports with a key of its own. */
export class Reporter {
  readonly #privateKey: KeyObject;
  /** As the provider shows it: base64 of a SubjectPublicKeyInfo. */
  readonly verificationKey: string;

  constructor() {
    const pair = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
    this.#privateKey = pair.privateKey;
    this.verificationKey = pair.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
  }

  /** The headers of a report, signed now unless told otherwise. */
  sign(body: string | Buffer, seconds = Math.floor(Date.now() / 1000)): Record<string, string> {
    const timestamp = String(seconds);
    const signature = createSign('sha256').update(timestamp).update(body).sign(this.#privateKey, 'base64');
    return {
      'content-type': 'application/json',
      'x-twilio-email-event-webhook-signature': signature,
      'x-twilio-email-event-webhook-timestamp': timestamp,
    };
  }
}

/** An event as SendGrid writes it. */
export interface GivenEvent {
  readonly event: string;
  readonly deliveryid?: string;
  readonly tenantid?: string;
  readonly email?: string;
  readonly timestamp?: number;
  readonly sg_event_id?: string;
  readonly [field: string]: unknown;
}

let events = 0;

export function sendgridEvent(given: GivenEvent): GivenEvent {
  return {
    email: 'ada@example.com',
    timestamp: Math.floor(Date.now() / 1000) - 10,
    'smtp-id': '<14c5d75ce93.dfd.64b469@ismtpd-555>',
    sg_event_id: `event-${++events}-ZGVmYXVsdA`,
    sg_message_id: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
    category: ['cat facts'],
    ...given,
  };
}

/** Deliveries that were sent. @returns their ids */
export async function insertSentDeliveries(
  database: Database,
  tenantid: number,
  count: number,
  ageDays = 0,
): Promise<readonly string[]> {
  const { rows } = await database.pool.query<{ deliveryid: string }>(
    `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state,
       tracked, createtime)
     select $1, i, 1, 'welcome', 'insert', 'customer', '{"id": 1}', 'at_least_once', 'sent', true,
       now() - $3::int * interval '1 day'
     from generate_series(1, $2::int) i returning deliveryid::text as deliveryid`,
    [tenantid, count, ageDays],
  );
  return rows.map((row) => row.deliveryid);
}

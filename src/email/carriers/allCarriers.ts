import type { CarrierDefinition } from './carrier.js';
import { brevo } from './brevo/brevo.js';
import { mailgun } from './mailgun/mailgun.js';
import { postmark } from './postmark/postmark.js';
import { resend } from './resend/resend.js';
import { sendgrid } from './sendgrid/sendgrid.js';
import { ses } from './ses/ses.js';
import { smtp } from './smtp/smtp.js';

/** All carriers, in the order in which people see them. */
export const CARRIERS: readonly CarrierDefinition[] = [sendgrid, smtp, ses, resend, postmark, mailgun, brevo];

export const IDEMPOTENT_CARRIERS: readonly string[] = CARRIERS.filter(({ isIdempotent }) => isIdempotent).map(
  ({ kind }) => kind,
);

export function findCarrier(kind: string): CarrierDefinition | undefined {
  return CARRIERS.find((carrier) => carrier.kind === kind);
}

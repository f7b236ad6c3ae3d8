import type { WebhookKind } from '../../db/email/carrierWebhooks.js';
import type { EventWebhook } from './eventWebhook.js';
import { mailgun } from './mailgun.js';
import { postmark } from './postmark.js';
import { resend } from './resend.js';
import { sendgrid } from './sendgrid.js';
import { createSes } from './ses.js';
import type { ReadSns } from './sns.js';

export type ReportingKind = 'sendgrid' | WebhookKind;

/** @param readSns SNS itself by default */
export const createEventWebhooks = (readSns?: ReadSns): Readonly<Record<ReportingKind, EventWebhook>> => ({
  sendgrid,
  postmark,
  resend,
  mailgun,
  ses: createSes(readSns),
});

import { Router, type Request, type RequestHandler } from 'express';
import { readEmailWebhookKey } from '../../db/delivery/emailWebhookKeys.js';
import type { Database } from '../../db/connection/database.js';
import type { Ledger } from '../../db/connection/ledger.js';
import { recordMailEvents } from '../../db/delivery/mailEvents.js';
import { requireHere } from '../../db/placement.js';
import type { Clock } from '../../clock.js';
import { AppError } from '../../errors.js';
import type { Logger } from '../../log.js';
import { sendFailure } from '../http/failure.js';
import { readBytes } from '../http/readFields.js';
import type { MailEventMetrics } from './mailEventMetrics.js';
import { readSendgridEvents } from './sendgridEvents.js';
import { SignatureCheck } from './signature.js';

export interface MailEventDeps {
  readonly database: Pick<Database, 'knex'>;
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly log: Logger;
  readonly events: MailEventMetrics;
}

const SIGNATURE = 'X-Twilio-Email-Event-Webhook-Signature';
const TIMESTAMP = 'X-Twilio-Email-Event-Webhook-Timestamp';

/** The provider's reports have up to 768 KB. */
const MAX_BODY_BYTES = 2 * 1024 * 1024;
/**
 * The provider retries a report for up to a day, possibly with its original signature. Events are recorded idempotently,
 * so replaying a captured report within that day is harmless.
 */
const OLDEST_MS = 25 * 3_600_000;
/** Tolerated clock skew. */
const NEWEST_MS = 5 * 60_000;

/**
 * `POST /events/sendgrid/<tenantid>`: SendGrid's event webhook. A report is parsed only if the tenant's key verifies it;
 * a missing tenant or key gets the same response as a wrong signature.
 */
export function sendgridEventRoutes(deps: MailEventDeps): Router {
  const signatures = new SignatureCheck();

  const receive: RequestHandler = async (req, res) => {
    const nowMs = deps.clock.now();
    const tenantid = tenantOf(req);
    await requireHere(deps.database.knex, tenantid);
    const { signature, timestamp } = readSignature(req, nowMs);
    const body = await readBytes(req, MAX_BODY_BYTES);
    const key = await readEmailWebhookKey(deps.database.knex, tenantid);
    if (!signatures.fits(key?.verification_key, { timestamp, body, signature })) {
      throw new AppError('EVENT_SIGNATURE_INVALID', "The signature is not that of the tenant's webhook.");
    }
    const { events, ignored, foreign } = readSendgridEvents(body.toString('utf8'), tenantid, nowMs);
    const recorded = await recordMailEvents(deps.ledger, tenantid, events);
    const counts = { ...recorded, ignored, foreign: foreign + recorded.foreign };
    deps.events.count(counts);
    deps.log.debug({ tenantid, ...counts }, 'received mail events');
    res.status(204).end();
  };
  const refuse: RequestHandler = (req, res) => {
    const error = new AppError('METHOD_NOT_ALLOWED', `${req.method} is not allowed here.`);
    sendFailure(res, error, { allow: 'POST' });
  };

  const router = Router();
  router.route('/events/sendgrid/:tenantid').post(receive).all(refuse);
  return router;
}

/** An id that no tenant has if it is invalid. */
function tenantOf(req: Request): number {
  const text = String(req.params['tenantid']);
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}

/** Throws AppError EVENT_SIGNATURE_MISSING, EVENT_SIGNATURE_EXPIRED. */
function readSignature(req: Request, nowMs: number): { signature: string; timestamp: string } {
  const signature = req.get(SIGNATURE) ?? '';
  const timestamp = req.get(TIMESTAMP) ?? '';
  if (signature === '' || timestamp === '') {
    throw new AppError('EVENT_SIGNATURE_MISSING', 'The report is not signed.');
  }
  const ageMs = nowMs - Number(timestamp) * 1000;
  if (!(ageMs <= OLDEST_MS && ageMs >= -NEWEST_MS)) {
    throw new AppError('EVENT_SIGNATURE_EXPIRED', 'The report was signed too long ago, or in the future.');
  }
  return { signature, timestamp };
}

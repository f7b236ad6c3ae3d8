import { Router, type Request, type RequestHandler } from 'express';
import {
  readWebhookSecret,
  useToken,
  WEBHOOK_KINDS,
  type WebhookKind,
} from '../../db/delivery/carrierWebhooks.js';
import { recordMailEvents } from '../../db/delivery/mailEvents.js';
import { requireHere } from '../../db/placement.js';
import type { KeyRing } from '../../secrets.js';
import { sendFailure } from '../http/failure.js';
import { readBytes } from '../http/readFields.js';
import { AppError } from '../../errors.js';
import { EVENT_READERS } from './carrierEvents.js';
import { checkEvents } from './eventFields.js';
import type { MailEventDeps } from './sendgridEventRoutes.js';
import { SnsCheck, type ReadSns } from './sns.js';
import { invalid, VERIFIERS, type Report, type VerifiedReport } from './verifiers.js';

export interface CarrierEventDeps extends MailEventDeps {
  readonly keyRing: KeyRing;
  /** SNS itself by default. */
  readonly readSns?: ReadSns;
}

/** Carriers send a few kilobytes; SNS 256 KiB at most. */
const MAX_BODY_BYTES = 512 * 1024;

/**
 * `POST /events/<carrier>/<tenantid>`: carriers' reports, verified by each carrier's own method before their content is
 * trusted. A missing tenant or secret gets the same response as a wrong signature.
 */
export function carrierEventRoutes(deps: CarrierEventDeps): Router {
  const sns = new SnsCheck(deps.readSns);

  const open = (kind: WebhookKind, report: Report, secret: string | undefined) =>
    kind === 'ses' ? sns.open(report, secret) : VERIFIERS[kind](report, secret);

  const receive =
    (kind: WebhookKind): RequestHandler =>
    async (req, res) => {
      const { knex } = deps.database;
      const nowMs = deps.clock.now();
      const tenantid = tenantOf(req);
      await requireHere(knex, tenantid);
      const body = await readBytes(req, MAX_BODY_BYTES);
      const secret = await readWebhookSecret(knex, deps.keyRing, tenantid, kind);
      const verified = await open(kind, { headers: req.headers, body, nowMs }, secret);
      if (verified) {
        const { once } = verified;
        if (once && !(await useToken(knex, { tenantid, ...once }))) throw invalid();
        await record(kind, tenantid, verified, nowMs);
      }
      res.status(204).end();
    };

  const record = async (
    kind: WebhookKind,
    tenantid: number,
    { report, reportId }: VerifiedReport,
    nowMs: number,
  ): Promise<void> => {
    const given = EVENT_READERS[kind](report, reportId).slice(0, MAX_EVENTS);
    const { events, ignored, foreign } = checkEvents(given, tenantid, nowMs);
    const recorded = await recordMailEvents(deps.ledger, tenantid, events);
    const counts = { ...recorded, ignored, foreign: foreign + recorded.foreign };
    deps.events.count(counts);
    deps.log.debug({ tenantid, kind, ...counts }, 'received mail events');
  };

  const refuse: RequestHandler = (req, res) => {
    const error = new AppError('METHOD_NOT_ALLOWED', `${req.method} is not allowed here.`);
    sendFailure(res, error, { allow: 'POST' });
  };

  const router = Router();
  for (const kind of WEBHOOK_KINDS) {
    router.route(`/events/${kind}/:tenantid`).post(receive(kind)).all(refuse);
  }
  return router;
}

/** Maximum events per report, such as recipients of one mail. */
const MAX_EVENTS = 1_000;

/** An id that no tenant has if it is invalid. */
function tenantOf(req: Request): number {
  const text = String(req.params['tenantid']);
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}

import { Router, type Request, type RequestHandler, type Response } from 'express';
import { readWebhookSecret, useToken } from '../../db/email/carrierWebhooks.js';
import { readEmailWebhookKey } from '../../db/email/emailWebhookKeys.js';
import { EVENT_BYTES, recordEmailEvents } from '../../db/email/emailEvents.js';
import { checkEvents } from '../../email/carriers/reports/events.js';
import { signatureInvalid, type EventWebhook, type Report } from '../../email/carriers/reports/webhook.js';
import { CARRIERS } from '../../email/carriers/allCarriers.js';
import { requireTenantInThisCell } from '../../db/cells/placement.js';
import { explainControlError } from '../../db/sql/controlFailure.js';
import { AppError, rateLimited } from '../../foundation/errors.js';
import { tenantPlans } from '../../graphql/plan/planOwner.js';
import { oneStep } from '../../graphql/steps.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { clientAddress } from '../http/clientAddress.js';
import { sendFailure } from '../http/failure.js';
import { AT_ONCE, QUICK_BYTES, readBytes } from '../http/readFields.js';
import { NO_TENANT, readId } from '../http/readId.js';
import type { RouteDeps } from '../http/routeDeps.js';
import type { EmailEventMetrics } from './emailEventMetrics.js';

/**
 * Limits on recording one tenant's verified reports, per process. Recording a report occupies one of few connections for up
 * to half a second, and unsubscribe pages and other tenants' reports need them too. Carriers repeat a report that was too busy.
 */
const REPORTS = { perTenant: 1, waiting: 50, waitMs: 10_000 };

/** Until more was sent, or the day is over. */
const REFUSED_FOR_MS = 3_600_000;

/** Who sends large reports that are parsed to be verified. Those of carriers are small. */
const ANONYMOUS_CLIENTS = { key: 'clients with reports', isAnonymous: true };

/**
 * `POST /events/<carrier>/<tenantid>`: carriers' reports, verified by each carrier's own method before their content is
 * trusted. A missing tenant or secret gets the same response as a wrong signature. Mailgun and Postmark repeat a report unless the
 * response is 200, and Postmark gives up after a 403, so a wrong password is a 401.
 */
export function eventRoutes(deps: RouteDeps, metrics: EmailEventMetrics): Router {
  const { pool, ledger } = deps.database;
  const limiter = new TenantLimiter(REPORTS);

  const receive =
    (kind: string, { maxBodyBytes, verify, read }: EventWebhook) =>
    async (req: Request, res: Response): Promise<void> => {
      const nowMs = deps.clock.now();
      const tenantid = readId(req.params['tenantid']) ?? NO_TENANT;
      await deps.turns.run(req, () => requireTenantInThisCell(pool, tenantid));
      // Anyone may send one: it is verified afterwards.
      const sender = clientAddress(req, deps.config.trustProxy);
      const body = await readBytes(req, maxBodyBytes, () => deps.bodies.ofAnonymous(sender, res));
      const verified = await verify(
        { headers: req.headers, body, tenantid, nowMs, inTurn: turnsOf(tenantid, body) },
        await deps.turns.run(req, () => readSecret(kind, tenantid)),
      );
      if (verified) {
        const { items, reportId, once } = verified;
        const given = items.flatMap((item) => read(item, { reportId, tenantid }));
        const { events, ignored, foreign } = checkEvents(given, tenantid, nowMs);
        const recorded = await limiter.run(tenantid, async () => {
          const use = once ? await useToken(pool, { tenantid, ...once }, EVENT_BYTES) : 'own';
          if (use === 'foreign') throw signatureInvalid();
          if (use === 'refused') throw quotaUsedUp();
          return recordEmailEvents(ledger, tenantid, events, EVENT_BYTES);
        });
        const counts = { ...recorded, ignored, foreign: foreign + recorded.foreign };
        metrics.count(counts);
        const byEvent = Object.fromEntries(recorded.recorded);
        deps.log.debug({ tenantid, kind, ...counts, recorded: byEvent }, 'received email events');
        if (recorded.refused > 0) {
          deps.log.warn(
            { tenantid, kind, events: recorded.refused },
            'refused email events beyond the quota',
          );
          throw quotaUsedUp();
        }
      }
      res.status(kind === 'sendgrid' ? 204 : 200).end();
    };

  const turnsOf = (tenantid: number, { length }: Buffer): Report['inTurn'] => {
    if (length <= QUICK_BYTES) return () => AT_ONCE;
    return (whose) => (work) =>
      deps.engine.planning.run(whose === 'tenant' ? tenantPlans(tenantid) : ANONYMOUS_CLIENTS, oneStep(work));
  };

  // SendGrid's is the public half of a key, so it is stored in the clear; the others share a secret.
  const readSecret = async (kind: string, tenantid: number): Promise<string | undefined> =>
    kind === 'sendgrid'
      ? (await readEmailWebhookKey(pool, tenantid))?.verification_key
      : readWebhookSecret(pool, deps.keyRing, tenantid, kind);

  const refuse: RequestHandler = (req, res) => {
    const error = new AppError('METHOD_NOT_ALLOWED', `${req.method} is not allowed here.`);
    sendFailure(res, error, { allow: 'POST' });
  };

  const router = Router();
  for (const { kind, reports } of CARRIERS) {
    if (!reports) continue;
    const record = receive(kind, reports.open({ readSns: deps.readSns }));
    const respond: RequestHandler = async (req, res) => {
      await record(req, res).catch((error: unknown) => {
        throw repeatable(error);
      });
    };
    router.route(`/events/${kind}/:tenantid`).post(respond).all(refuse);
  }
  return router;
}

function quotaUsedUp(): AppError {
  return rateLimited('Too much has been reported of this tenant today.', REFUSED_FOR_MS);
}

/** Brevo and SNS don't repeat a report after a 409. */
function repeatable(error: unknown): unknown {
  if (explainControlError(error)?.code !== 'TRANSACTION_CONFLICT') return error;
  return new AppError('TOO_BUSY', 'The report could not be recorded in time.', { cause: error });
}

import type { LoadedDelivery } from '../db/ledger/loadDeliveries.js';
import type { SendOutcome } from '../email/carriers/sending.js';
import type { Logger } from '../foundation/observability/log.js';
import { FAILURES_PER_SECOND, LogThrottle } from '../foundation/observability/logThrottle.js';
import { markFailed, traceIdOf, type Span } from '../foundation/observability/tracing/tracing.js';
import { commitToAccepted, deliveryOutcomes, carrierCalls } from '../foundation/observability/metrics.js';

/** A delivery whose attempt this worker has begun. */
export interface AttemptedDelivery extends LoadedDelivery {
  /** `performance.now()` */
  readonly startedAtMs: number;
  /** The carrier it was, or would have been, made with. */
  readonly carrier: string;
  readonly messageId: string;
  readonly span: Span | undefined;
}

/** The result of an attempt, as recorded in the ledger. */
export interface AttemptResult {
  readonly state: string;
  readonly httpStatus: number | null;
  readonly errorCode: string | null;
}

export interface AttemptReportDeps {
  readonly log: Logger;
  /** Log lines for emails that were sent; those to be retried have the same limit again. */
  readonly linesPerSecond: number;
  readonly now: () => number;
}

/** Logged whatever the setting, within a limit of their own: no later line would show them. */
const FINAL_FAILURES: ReadonlySet<string> = new Set(['failed', 'unknown']);

/** Metrics and logs of attempts. The ledger is the record; this is for operators. */
export function createAttemptReport(deps: AttemptReportDeps) {
  const { log, linesPerSecond } = deps;
  const throttle = (lines: number): LogThrottle =>
    new LogThrottle({
      intervalMs: 1_000,
      lines,
      linesPerKey: lines / 2,
      onLeftOut: (count) => log.info({ count }, 'deliveries left out of the log'),
    });
  const [sent, others] = [throttle(linesPerSecond), throttle(linesPerSecond)];
  const failed = throttle(FAILURES_PER_SECOND);
  return {
    called(carrier: string, { kind }: SendOutcome, startedAtMs: number): void {
      carrierCalls.observe({ carrier, outcome: kind }, (performance.now() - startedAtMs) / 1000);
    },
    ended(delivery: AttemptedDelivery, { state, httpStatus, errorCode }: AttemptResult): void {
      deliveryOutcomes.inc({ state, carrier: delivery.carrier });
      const { span } = delivery;
      span?.setAttribute('rowpost.delivery.state', state);
      if (errorCode !== null) markFailed(span, errorCode);
      if (state === 'sent' && delivery.starts <= 1) {
        commitToAccepted.observe(Math.max(0, deps.now() - Date.parse(delivery.createtime)) / 1000);
      }
      const isFinal = FINAL_FAILURES.has(state);
      const { tenantid } = delivery;
      const isLogged = isFinal ? failed.isDue(tenantid) : (state === 'sent' ? sent : others).isDue();
      if (!isLogged) return;
      const { deliveryid, ruleid, emailType, starts, startedAtMs } = delivery;
      // No texts: the error is tenant data, and in the ledger.
      const line = {
        tenantid,
        deliveryid,
        ruleid,
        emailType,
        attempt: starts,
        state,
        ...(httpStatus === null ? {} : { httpStatus }),
        ...(errorCode === null ? {} : { code: errorCode }),
        ms: Math.round(performance.now() - startedAtMs),
        ...traceIdOf(span),
      };
      if (isFinal) log.warn(line, 'delivery');
      else log.info(line, 'delivery');
    },
  };
}

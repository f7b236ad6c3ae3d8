import type { Logger } from '../../foundation/observability/log.js';
import { FAILURES_PER_SECOND, LogThrottle } from '../../foundation/observability/logThrottle.js';
import { traceIdOf } from '../../foundation/observability/tracing/tracing.js';
import { isProbe, type RequestRecord } from './requestRecord.js';

/** Logs one line per request when its response has ended; above a certain rate, a sample. */
export interface RequestLog {
  ended(record: RequestRecord, status: number, isComplete: boolean): void;
}

const NAME = /^[_A-Za-z]\w{0,63}$/;

/**
 * Successful requests, client errors and our own errors (5xx) are sampled separately, so that no flood of one hides the
 * others.
 * @param linesPerSecond the limit for each of the first two
 */
export function createRequestLog(log: Logger, linesPerSecond: number): RequestLog {
  const throttle = (lines: number): LogThrottle =>
    new LogThrottle({
      intervalMs: 1_000,
      lines,
      linesPerKey: lines / 2,
      onLeftOut: (count) => log.info({ count }, 'requests left out of the log'),
    });
  const [good, refused] = [throttle(linesPerSecond), throttle(linesPerSecond)];
  const failed = throttle(FAILURES_PER_SECOND);
  const isOn = log.isLevelEnabled('info');
  // A tenant whose requests are rejected hides those of no other.
  const isLineDue = (status: number, tenantid: number | undefined): boolean =>
    status < 400 ? good.isDue() : refused.isDue(tenantid);
  return {
    ended(record, status, isComplete) {
      // An unavailable dependency, or a shutdown, is logged elsewhere.
      if (isProbe(record.route) && (status < 400 || status === 503)) return;
      const { id, method, route, tenantid, roleid, code, cause } = record;
      if (!(status >= 500 ? failed.isDue(tenantid) : isOn && isLineDue(status, tenantid))) return;
      // Callers may send any text as a name.
      const operation = NAME.test(record.operation ?? '') ? record.operation : undefined;
      const line = {
        id,
        method,
        route,
        status,
        ms: Math.round((performance.now() - record.startedAtMs) * 10) / 10,
        tenantid,
        roleid,
        operation,
        code,
        cause,
        ...traceIdOf(record.span),
        ...(isComplete ? {} : { aborted: true }),
      };
      if (status >= 500) log.error(line, 'request');
      else log.info(line, 'request');
    },
  };
}

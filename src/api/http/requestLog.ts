import type { Logger } from '../../log.js';
import { LogSampler } from '../../logSampler.js';
import { traceIdOf } from '../../tracing/tracing.js';
import { isProbe, type RequestRecord } from './requestRecord.js';

/** Logs one line per request when its answer has ended; above a rate, some. */
export interface RequestLog {
  ended(record: RequestRecord, status: number, isComplete: boolean): void;
}

const NAME = /^[_A-Za-z]\w{0,63}$/;

/**
 * Errors of ours (5xx) are always logged. What callers did wrong has a share of its own, so that neither a flood of them nor
 * of good requests hides the other.
 * @param linesPerSecond of each of the two
 */
export function createRequestLog(log: Logger, linesPerSecond: number): RequestLog {
  const sampler = (): LogSampler =>
    new LogSampler(linesPerSecond, (count) => log.info({ count }, 'requests left out of the log'));
  const [good, refused] = [sampler(), sampler()];
  const isOn = log.isLevelEnabled('info');
  return {
    ended(record, status, isComplete) {
      // A dependency that is away, or a stop, has lines of its own.
      if (isProbe(record.route) && (status < 400 || status === 503)) return;
      if (status < 500 && (!isOn || !(status < 400 ? good : refused).take())) return;
      const { id, method, route, tenantid, roleid, code } = record;
      // Callers may send any text for a name.
      const operation = NAME.test(record.operation ?? '') ? record.operation : undefined;
      const line = {
        id,
        method,
        route,
        status,
        ms: Math.round((performance.now() - record.beganAtMs) * 10) / 10,
        tenantid,
        roleid,
        operation,
        code,
        ...traceIdOf(record.span),
        ...(isComplete ? {} : { aborted: true }),
      };
      if (status >= 500) log.error(line, 'request');
      else log.info(line, 'request');
    },
  };
}

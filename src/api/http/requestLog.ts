import type { Logger } from '../../log.js';
import { LogSampler } from '../../logSampler.js';
import { traceIdOf } from '../../tracing/tracing.js';
import { isProbe, type RequestRecord } from './requestRecord.js';

/** Logs one line per request when its response has ended; above a certain rate, a sample. */
export interface RequestLog {
  ended(record: RequestRecord, status: number, isComplete: boolean): void;
}

const NAME = /^[_A-Za-z]\w{0,63}$/;

/**
 * Our own errors (5xx) are always logged. Client errors are sampled separately, so that neither a flood of them nor of
 * successful requests hides the other.
 * @param linesPerSecond the limit for each of the two
 */
export function createRequestLog(log: Logger, linesPerSecond: number): RequestLog {
  const sampler = (): LogSampler =>
    new LogSampler(linesPerSecond, (count) => log.info({ count }, 'requests left out of the log'));
  const [good, refused] = [sampler(), sampler()];
  const isOn = log.isLevelEnabled('info');
  return {
    ended(record, status, isComplete) {
      // An unavailable dependency, or a shutdown, is logged elsewhere.
      if (isProbe(record.route) && (status < 400 || status === 503)) return;
      if (status < 500 && (!isOn || !(status < 400 ? good : refused).take())) return;
      const { id, method, route, tenantid, roleid, code, cause } = record;
      // Callers may send any text as a name.
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
        cause,
        ...traceIdOf(record.span),
        ...(isComplete ? {} : { aborted: true }),
      };
      if (status >= 500) log.error(line, 'request');
      else log.info(line, 'request');
    },
  };
}

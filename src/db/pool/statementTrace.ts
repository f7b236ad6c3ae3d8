import type pg from 'pg';
import type { Logger } from '../../foundation/observability/log.js';
import type { StatementTrace } from '../wire/index.js';

/** The only literal value in statements, where PostgreSQL accepts no parameter. */
const SECRET = /(?<=\bpassword\s+)'[^]*/i;

/** Logs completed statements; their texts contain no values. @returns undefined unless LOG_LEVEL is trace; nothing is measured then */
export function statementTrace(log: Logger): StatementTrace | undefined {
  if (!log.isLevelEnabled('trace')) return undefined;
  return ({ name, text }, ms) => {
    const plan = name === undefined || name === '' ? null : name;
    log.trace({ plan, ms: Number(ms.toFixed(2)), sql: text.replace(SECRET, '…') }, 'statement');
  };
}

type Callback = (error: unknown, result: unknown) => void;

/** Traces all statements sent by `client.query`, with a promise or with a callback. */
export function traceClient(client: pg.ClientBase, trace: StatementTrace): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const traced = (...args: unknown[]): unknown => {
    const statement = statementOf(args[0]);
    if (!statement) return send(...args);
    const sentAt = performance.now();
    const end = (): void => trace(statement, performance.now() - sentAt);
    const last = args.at(-1);
    if (typeof last === 'function') {
      const callback: Callback = (error, result) => {
        end();
        (last as Callback)(error, result);
      };
      return send(...args.slice(0, -1), callback);
    }
    const result = send(...args) as Promise<unknown>;
    result.then(end, end);
    return result;
  };
  client.query = traced as typeof client.query;
}

/** @returns undefined for anything that is not a statement, such as a `Pipeline`, which traces its own */
function statementOf(config: unknown): Parameters<StatementTrace>[0] | undefined {
  if (typeof config === 'string') return { text: config };
  if (typeof config !== 'object' || config === null || 'submit' in config) return undefined;
  const { name, text } = config as { name?: string; text?: unknown };
  return typeof text === 'string' ? { name, text } : undefined;
}

import { pino, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;
export type LogLevel = 'fatal' | 'error' | 'warn' | 'info' | 'debug' | 'trace' | 'silent';

/** Keys whose values are secret wherever they appear in a log record, up to three levels deep. */
const SECRET_KEYS = [
  'authorization',
  'cookie',
  'password',
  'apikey',
  'api_key',
  'client_secret',
  'access_token',
  'refresh_token',
  'id_token',
  'token',
  'secret',
];

/** One JSON object per line on stderr; stdout is reserved for command output. */
export function createLogger(level: LogLevel, name: string): Logger {
  return pino(
    {
      level,
      name,
      base: { name, pid: process.pid },
      redact: {
        paths: SECRET_KEYS.flatMap((key) => [key, `*.${key}`, `*.*.${key}`]),
        censor: '[redacted]',
      },
      serializers: { err: describeError },
    },
    pino.destination({ fd: 2, sync: true }),
  );
}

/**
 * Logs only an error's name, message and stack, never its other properties: a transport error carries the request's
 * headers and body, a database error the statement's parameters.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error) };
  const code = (error as { code?: unknown }).code;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    stack: error.stack,
    ...(error.cause instanceof Error ? { cause: describeError(error.cause) } : {}),
  };
}

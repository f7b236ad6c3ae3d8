import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

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
export function createLogger(
  level: LogLevel,
  name: string,
  destination: DestinationStream = pino.destination({ fd: 2, sync: true }),
): Logger {
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
    destination,
  );
}

/** A tenant's code may raise errors of a megabyte. */
const MAX_MESSAGE_CHARACTERS = 1_000;

/**
 * Logs only an error's name, message and stack, never its other properties: an HTTP client's error carries the request's
 * headers and body, a database error the statement's parameters.
 */
function describeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { message: String(error).slice(0, MAX_MESSAGE_CHARACTERS) };
  const code = (error as { code?: unknown }).code;
  const message = error.message.slice(0, MAX_MESSAGE_CHARACTERS);
  return {
    type: error.name,
    message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code } : {}),
    // It begins with the message.
    stack: error.stack?.replace(error.message, () => message),
    ...(error.cause instanceof Error ? { cause: describeError(error.cause) } : {}),
  };
}

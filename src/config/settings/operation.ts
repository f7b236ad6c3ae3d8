import type { LogLevel } from '../../foundation/observability/log.js';
import { setting } from './setting.js';
import { integer, listeningAddress, oneOf, optional } from '../settingValues.js';

export const OPERATION = {
  healthPort: setting(
    'HEALTH_PORT',
    optional(integer(0, 65_535)),
    undefined,
    'Port on which a relay or worker serves `/livez`, `/readyz` and `/metrics`; each process needs its own. No token is required, so do not expose it. `web` and `all` serve them on `PORT`.',
    'none',
  ),
  healthHost: setting(
    'HEALTH_HOST',
    optional(listeningAddress),
    undefined,
    'The address on which `HEALTH_PORT` listens.',
    '`HOST`',
  ),
  backlogAlarmSeconds: setting(
    'BACKLOG_ALARM_SECONDS',
    integer(0),
    60,
    '`rowpost doctor` and `/readyz` report a backlog in which something has waited longer than this, in seconds; 0 for no alarm.',
  ),
  logLevel: setting(
    'LOG_LEVEL',
    oneOf<LogLevel>('fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'),
    'info',
    'fatal, error, warn, info, debug, trace or silent. `trace` logs every SQL statement, without values, with its duration and the name of its plan.',
  ),
} as const;

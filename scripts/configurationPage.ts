// Writes docs/reference/configuration.md from src/config/settings.ts.
import { IN_FILES } from '../src/config/config.js';
import { SETTINGS } from '../src/config/settings.js';
import { CARRIER_SETTINGS } from '../src/process/loadConfig.js';
import type { Setting } from '../src/config/settings/setting.js';

/** In this order on the page. Every setting is in one of them. */
const GROUPS: Readonly<Record<string, readonly string[]>> = {
  'Addresses and secrets': [
    'BASE_URL',
    'PORT',
    'HOST',
    'TRUST_PROXY',
    'CORS_ORIGINS',
    'SECRET_KEYS',
    'PXADMIN_PASSWORD',
    'ROWPOST_DATA_DIR',
  ],
  PostgreSQL: [
    'DATABASE_URL',
    'DATABASE_DIRECT_URL',
    'DATABASE_PASSWORD_COMMAND',
    'PREPARED_STATEMENTS',
    'PG_POOL',
    'PG_POOL_TIMEOUT_MS',
    'REQUEST_TIMEOUT_MS',
    'DATABASE_REPLICA_URLS',
    'MAX_REPLICA_LAG_SECONDS',
  ],
  'The queue': ['REDIS_URL', 'QUEUE_PREFIX'],
  'Carriers and emails': [
    'MAIL_TRANSPORT',
    'KEEP_EMAIL_DAYS',
    'SEND_DEADLINE_MS',
    'SMTP_ALLOW_PRIVATE_NETWORK',
    ...CARRIER_SETTINGS.map(({ env }) => env),
  ],
  'Delivery and retries': [
    'WORKER_CONCURRENCY',
    'RENDER_PROCESSES',
    'TENANT_EMAILS_PER_SECOND',
    'MAX_ATTEMPTS',
    'BACKOFF_CAP_MS',
    'LEASE_MS',
    'RELAY_BATCH',
    'RETENTION_DAYS',
  ],
  'Signing in': [
    'ACCESS_TOKEN_SECONDS',
    'REFRESH_TOKEN_SECONDS',
    'SIGN_INS_PER_ADDRESS',
    'SIGN_IN_FAILURES_PER_LOGIN',
    'SIGN_IN_EVENT_DAYS',
    'OIDC_RETURN_ORIGINS',
    'OIDC_ALLOW_PRIVATE_NETWORK',
  ],
  Requests: ['LIST_MAX_LIMIT', 'BODY_LIMIT_BYTES', 'MAX_RESPONSE_BYTES', 'GRAPHQL_INTROSPECTION'],
  'Anonymous clients': ['ANONYMOUS_REQUESTS_PER_MINUTE', 'ANONYMOUS_ROLES_PER_MINUTE'],
  Files: ['STORAGE_URL', 'FILE_MAX_BYTES', 'FILE_TYPES', 'FILE_LINK_SECONDS'],
  'Health, logs and shutdown': [
    'HEALTH_PORT',
    'HEALTH_HOST',
    'BACKLOG_ALARM_SECONDS',
    'LOG_LEVEL',
    'SHUTDOWN_GRACE_MS',
    'SHUTDOWN_DELAY_MS',
  ],
  'Cells and moving tenants': [
    'DIRECTORY_URL',
    'CELL',
    'CELL_URL',
    'TARGET_DATABASE_URL',
    'SOURCE_SECRET_KEYS',
  ],
};

export function configurationPage(): string {
  const settings = new Map(
    [...Object.values<Setting<unknown>>(SETTINGS), ...CARRIER_SETTINGS].map(
      (setting) => [setting.env, setting] as const,
    ),
  );
  const groups = Object.entries(GROUPS).map(([title, names]) => {
    const rows = names.map((name) => {
      const setting = settings.get(name);
      if (!setting) throw new Error(`there is no setting ${name}, or two groups have it`);
      settings.delete(name);
      return row(setting);
    });
    return `## ${title}\n\n| Variable | Default | Meaning |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
  });
  if (settings.size > 0) {
    throw new Error(`scripts/configurationPage.ts has no group for ${[...settings.keys()].join(', ')}`);
  }
  const inFiles = [...IN_FILES].map((name) => `\`${name}\``);
  return `# Configuration

Everything is set by environment variables, read once at start. An invalid value stops the start, and all problems
are listed at once. With \`NODE_ENV=production\` every unsafe default is rejected as well.

These variables may be in files instead, as containers mount secrets: \`<name>_FILE\` names the file. They are ${inFiles.slice(0, -1).join(', ')} and ${inFiles.at(-1) ?? ''}.

This page is generated from \`src/config/settings.ts\` by \`npm run docs\`.

${groups.join('\n')}`;
}

function row({ env, fallback, fallbackText, doc }: Setting<unknown>): string {
  const shown =
    fallbackText ??
    (fallback === undefined
      ? 'unset'
      : `\`${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)}\``);
  return `| \`${env}\` | ${shown} | ${doc} |`;
}

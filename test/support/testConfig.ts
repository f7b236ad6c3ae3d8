import type { Config } from '../../src/config/config.js';
import { SETTINGS } from '../../src/config/settings.js';
import { loadConfig } from '../../src/process/loadConfig.js';
import { divideConnections, type ConnectionBudget } from '../../src/db/pool/connectionBudget.js';
import { KeyRing } from '../../src/config/secrets.js';
import { createLogger, type Logger } from '../../src/foundation/observability/log.js';
import { noteLines } from './recentLines.js';

/** Encrypts the secrets that tests store. */
export const TEST_SECRET_KEYS = `test:${Buffer.alloc(32, 7).toString('base64')}`;

export const testKeyRing = KeyRing.parse(TEST_SECRET_KEYS);

/** Every part of a process has some connections. */
export const TEST_BUDGET: ConnectionBudget = divideConnections(24, 'all', true);

/** Of a web process with the `PG_POOL` of these settings; TEST_BUDGET without one. */
export function budgetOf(settings: Readonly<Record<string, string>>): ConnectionBudget {
  return settings['PG_POOL'] === undefined
    ? TEST_BUDGET
    : divideConnections(Number(settings['PG_POOL']), 'web', false);
}

const { TEST_LOG_LEVEL } = process.env;

/** Is printed when a test fails, and as it comes if TEST_LOG_LEVEL asks for it: `trace` shows every statement. */
export const testLog: Logger = TEST_LOG_LEVEL
  ? createLogger(loadConfig({ NODE_ENV: 'test', LOG_LEVEL: TEST_LOG_LEVEL }).logLevel, 'test')
  : createLogger('info', 'test', { write: (line) => noteLines('the test process', line) });

/** The environment of a process under test; `overrides` are environment variables. */
export function testEnv(overrides: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> {
  return {
    NODE_ENV: 'test',
    PORT: '0',
    BASE_URL: 'http://localhost:8080',
    SECRET_KEYS: TEST_SECRET_KEYS,
    MAIL_TRANSPORT: 'mailbox',
    LOG_LEVEL: 'silent',
    ...overrides,
  };
}

/**
 * Settings as a process would read them. Give DATABASE_URL where something uses `config.databaseUrl`. A constant of the
 * configuration may be overridden like a setting: RELAY_POLL_MS for `relayPollMs`.
 */
export function testConfig(overrides: Readonly<Record<string, string | undefined>> = {}): Config {
  const given = Object.entries(testEnv()).concat(
    Object.entries(overrides).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  );
  const constants = given.flatMap(([name, value]) => {
    const field = name.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
    return NO_SETTINGS.has(field) ? [[name, field, value] as const] : [];
  });
  const env = Object.fromEntries(
    given.filter(([name]) => !constants.some(([constant]) => constant === name)),
  );
  return {
    ...loadConfig(env),
    ...Object.fromEntries(constants.map(([, field, value]) => [field, Number(value)])),
  };
}

/** Fields of the configuration that no setting of the same name gives. */
const NO_SETTINGS = new Set(Object.keys(loadConfig({})).filter((field) => !Object.hasOwn(SETTINGS, field)));

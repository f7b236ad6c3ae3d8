import { ConfigError } from '../foundation/errors.js';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseStorageUrl } from './storageUrl.js';
import { ownValue } from '../foundation/ownValue.js';
import { passwordWeakness } from '../foundation/passwordRules.js';
import { CONSTANTS, deriveSettings } from './constants.js';
import { FORMER_SETTINGS } from './formerSettings.js';
import { SETTINGS } from './settings.js';
import type { Setting } from './settings/setting.js';

type Values = { -readonly [K in keyof typeof SETTINGS]: (typeof SETTINGS)[K]['fallback'] };

/** All settings, read once by main and passed in. `embedded` is true if no DATABASE_URL is given. */
export type Config = Readonly<
  Omit<Values, 'baseUrl' | 'cellUrl' | 'host' | 'healthHost' | 'mailTransport' | 'storageUrl'> &
    typeof CONSTANTS &
    ReturnType<typeof deriveSettings>
> & {
  readonly production: boolean;
  readonly embedded: boolean;
  readonly host: string;
  readonly healthHost: string;
  readonly baseUrl: string;
  readonly cellUrl: string;
  readonly mailTransport: 'sendgrid' | 'mailbox';
  readonly storageUrl: string;
  /** Base URLs of carriers' APIs, by their setting. */
  readonly carrierUrls: Readonly<Record<string, string | undefined>>;
  /** What to say of those that are given and no longer used. */
  readonly formerSettings: readonly string[];
};

/** What a production process listens on unless told otherwise: platforms and containers connect from other machines. */
const ALL_ADDRESSES = '::';
export const LOOPBACK = '127.0.0.1';

/**
 * Reads the settings from `env`. Throws ConfigError, which lists every problem and names no value.
 * @param carrierUrlSettings come with the carriers
 */
export function readConfig(
  env: Readonly<Record<string, string | undefined>>,
  carrierUrlSettings: readonly Setting<string | undefined>[],
): Config {
  const problems: string[] = [];
  const carrierUrls = Object.fromEntries(
    carrierUrlSettings.map((row) => [row.env, readSetting(row, env, problems)]),
  );
  const values = Object.fromEntries(
    Object.entries<Setting<unknown>>(SETTINGS).map(([name, row]) => [name, readSetting(row, env, problems)]),
  ) as unknown as Values;
  const production = env['NODE_ENV'] === 'production';
  const embedded = values.databaseUrl === undefined;
  if ((!embedded || production) && values.secretKeys === undefined) {
    problems.push('SECRET_KEYS is required: id:base64-of-32-bytes (see .env.example)');
  }
  if ((values.directoryUrl === undefined) !== (values.cell === undefined)) {
    problems.push(
      `${values.cell === undefined ? 'DIRECTORY_URL needs CELL' : 'CELL needs DIRECTORY_URL'}: see docs/how-to/cells.md`,
    );
  }
  if (production) problems.push(...productionProblems(values, carrierUrls));
  if (problems.length > 0) throw new ConfigError(problems);
  const baseUrl = values.baseUrl ?? new URL(`http://localhost:${values.port}`).origin;
  const host = values.host ?? (production ? ALL_ADDRESSES : LOOPBACK);
  return {
    ...CONSTANTS,
    ...deriveSettings(values),
    ...values,
    carrierUrls,
    formerSettings: Object.entries(FORMER_SETTINGS)
      .filter(([name]) => (ownValue(env, name) ?? '') !== '')
      .map(([name, instead]) => `${name} is no longer a setting, so remove it: ${instead}`),
    listDefaultLimit: Math.min(CONSTANTS.listDefaultLimit, values.listMaxLimit),
    production,
    embedded,
    host,
    healthHost: values.healthHost ?? host,
    baseUrl,
    cellUrl: values.cellUrl ?? baseUrl,
    mailTransport: values.mailTransport ?? (embedded ? 'mailbox' : 'sendgrid'),
    storageUrl: values.storageUrl ?? `file:${path.join(values.dataDir, 'files')}`,
  };
}

function readSetting<T>(
  row: Setting<T>,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): T {
  const given = readGiven(row.env, env, problems);
  if (given === undefined || given === '') return row.fallback;
  try {
    return row.parse(given);
  } catch (error) {
    problems.push(`${row.env} ${error instanceof Error ? error.message : 'is invalid'}`);
    return row.fallback;
  }
}

/** Settings that contain secrets. `<name>_FILE` may name a file with the value instead, as mounted by containers. */
export const IN_FILES: ReadonlySet<string> = new Set([
  'DATABASE_URL',
  'DATABASE_DIRECT_URL',
  'DATABASE_REPLICA_URLS',
  'DIRECTORY_URL',
  'TARGET_DATABASE_URL',
  'REDIS_URL',
  'SECRET_KEYS',
  'SOURCE_SECRET_KEYS',
  'PXADMIN_PASSWORD',
]);

function readGiven(
  name: string,
  env: Readonly<Record<string, string | undefined>>,
  problems: string[],
): string | undefined {
  const given = ownValue(env, name);
  const file = IN_FILES.has(name) ? (ownValue(env, `${name}_FILE`) ?? '') : '';
  if (file === '') return given;
  if ((given ?? '') !== '') problems.push(`${name} and ${name}_FILE are both set`);
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    problems.push(`${name}_FILE can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`);
    return given;
  }
}

function productionProblems(values: Values, carrierUrls: Config['carrierUrls']): string[] {
  const problems: string[] = [];
  if (values.databaseUrl === undefined) {
    problems.push('DATABASE_URL is required: the embedded PostgreSQL is for trying out');
  }
  if (values.pxadminPassword !== undefined) {
    const weakness = passwordWeakness(values.pxadminPassword, ['pxadmin']);
    if (weakness !== undefined) problems.push(`PXADMIN_PASSWORD ${weakness}`);
  }
  if (values.baseUrl === undefined) problems.push('BASE_URL is required');
  else if (isPlainHttp(values.baseUrl)) problems.push('BASE_URL must be https');
  if (values.mailTransport === 'mailbox') problems.push('MAIL_TRANSPORT=mailbox sends nothing');
  if (values.storageUrl === undefined) {
    problems.push('STORAGE_URL is required: every process must reach the same storage of files');
  } else {
    const storage = parseStorageUrl(values.storageUrl);
    if (storage.kind === 's3' && storage.endpoint !== undefined && isPlainHttp(storage.endpoint)) {
      problems.push('the endpoint of STORAGE_URL must be https');
    }
  }
  for (const [name, address] of Object.entries(carrierUrls)) {
    if (address !== undefined && isPlainHttp(address)) problems.push(`${name} must be https`);
  }
  if (values.corsOrigins.includes('*')) problems.push('CORS_ORIGINS=* lets every site call the API');
  return problems;
}

/** Whether secrets sent to the URL would cross a network unencrypted. */
function isPlainHttp(address: string): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'http:' && !['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

import path from 'node:path';
import { expect } from 'chai';
import { Redis } from 'ioredis';
import pg from 'pg';
import type { Setting } from '../../src/config/settings/setting.js';
import { CARRIER_SETTINGS, loadConfig } from '../../src/process/loadConfig.js';
import { parseDatabaseUrl } from '../../src/config/databaseUrl.js';
import { parseRedisUrl } from '../../src/config/redisAddress.js';
import { KeyRing } from '../../src/config/secrets.js';
import { FORMER_SETTINGS } from '../../src/config/formerSettings.js';
import { SETTINGS } from '../../src/config/settings.js';
import { parseStorageUrl } from '../../src/config/storageUrl.js';
import { ConfigError } from '../../src/foundation/errors.js';

/** One value, and other ways to write it. */
interface Spellings {
  readonly plain: string;
  /** Those that must be taken for it. */
  readonly same: readonly string[];
  /** Those that may be taken for it, and otherwise are refused. */
  readonly odd: readonly string[];
  /** Those that are something else. */
  readonly wrong: readonly string[];
}

/** What an address leads to, from how a URL is read by browsers (https://url.spec.whatwg.org) and by each driver. */
const ADDRESS: Spellings = {
  plain: 'https://mail.example.org',
  same: [
    'HTTPS://mail.example.org',
    'https://MAIL.Example.ORG',
    'https://mail.example.org:443',
    'https://mail.example.org:0443/',
    'https://mail.example.org/',
    ' https://mail.example.org\n',
  ],
  odd: [
    'https://mail.example.org//',
    'https://mail.example.org/.',
    'https://mail.example.org?',
    'https://@mail.example.org',
    'https:mail.example.org',
    'https:\\\\mail.example.org',
    'https://mail.exam\nple.org',
    'https://ma%69l.example.org',
    'https://ｍａｉｌ.example.org',
    '"https://mail.example.org"',
    'https://mail.example.org;',
    'https://mail.example.org,',
  ],
  wrong: [
    'mail.example.org',
    '//mail.example.org',
    'ftp://mail.example.org',
    'https://',
    'https://user:pass@mail.example.org',
    'https://mail.example.org?a=1',
    'https://mail.example.org#top',
    'https://*.example.org',
    'https://mail.example.org:99999',
    'https://mail.example.org;https://b.example',
    'https://mail.example.org https://b.example',
    'https://mail..example.org',
  ],
};
/** Hosts that may be written in several ways. */
const HOSTS: readonly Spellings[] = [
  { plain: 'https://xn--bcher-kva.example', same: ['https://bücher.example', 'https://BÜCHER.example'] },
  {
    plain: 'http://[::1]:8080',
    same: ['http://[0:0:0:0:0:0:0:1]:8080', 'http://[0::0001]:8080', 'HTTP://[::1]:8080/'],
  },
  { plain: 'http://[2001:db8::a]', same: ['http://[2001:DB8::A]:80', 'http://[2001:db8:0:0::000a]'] },
  {
    plain: 'http://127.0.0.1:8080',
    same: ['http://127.1:8080', 'http://0x7f000001:8080', 'http://2130706433:8080'],
  },
  { plain: 'http://localhost', same: ['http://LOCALHOST:80', 'http://localhost/'] },
].map((hosts) => ({ odd: [], wrong: [], ...hosts }));
const WITH_PATH = 'https://mail.example.org/app';

const LIST: Spellings = {
  plain: 'https://a.example.com,http://b.example.com:8080',
  same: [
    ' https://a.example.com , http://b.example.com:8080 ',
    'https://a.example.com,,http://b.example.com:8080,',
    'https://a.example.com/,HTTP://B.example.com:8080',
    'https://a.example.com:443,http://b.example.com:8080,https://A.EXAMPLE.com',
    'https://a.example.com\n,\thttp://b.example.com:8080',
  ],
  odd: ['https://a.example.com http://b.example.com:8080', 'https://a.example.com;http://b.example.com:8080'],
  wrong: [
    'https://a.example.com,b.example.com:8080',
    'https://a.example.com/app',
    'null',
    'https://a.example.com\nhttps://b',
  ],
};

const WHOLE: Spellings = {
  plain: '120',
  same: ['0120', ' 120', '120\r'],
  odd: ['+120', '120.0', '1.2e2', '0x78', '0b1111000', '１２０', '١٢٠'],
  wrong: [
    '   ',
    '120 s',
    '120s',
    '120ms',
    '1_20',
    '-1',
    'NaN',
    'Infinity',
    '120;',
    '120,5',
    '12e400',
    '99999999999999999',
  ],
};
const FLAG: Spellings = {
  plain: 'true',
  same: ['TRUE', '1', 'yes', 'On'],
  odd: [' true', 'true\r', 'y', 'enabled'],
  wrong: ['2', 'off;', 'truefalse'],
};
const LISTENING: Spellings = {
  plain: '::1',
  same: [],
  odd: ['0:0:0:0:0:0:0:1', '::0001', '[::1]', ' ::1', '::1/128'],
  wrong: ['localhost', '127.1', '0', '*', '127.0.0.1:80', 'https://127.0.0.1'],
};

const DATABASE: Spellings = {
  plain: 'postgres://me:pa%2Fss@db.example:5432/shop?sslmode=verify-full',
  same: [
    'postgresql://me:pa%2Fss@db.example:5432/shop?sslmode=verify-full',
    'postgres://me:pa%2fss@db.example/shop?sslmode=verify-full',
    'postgres://%6De:pa%2Fss@db.example:05432/shop?sslmode=verify-full&',
  ],
  odd: [
    'POSTGRES://me:pa%2Fss@db.example/shop?sslmode=verify-full',
    ' postgres://me:pa%2Fss@db.example/shop?sslmode=verify-full',
    'postgres://me:pa%2Fss@db.example/shop/?sslmode=verify-full',
    'postgres://me:pa%2Fss@db.example /shop?sslmode=verify-full',
    'postgres://me:pa%2Fss@db.exam\nple/shop?sslmode=verify-full',
    'postgres://me:pa%2Fss@db.example/shop?sslmode=VERIFY-FULL',
    'postgres://me:pa%2Fss@db.example/shop?sslmode=verify-full&sslmode=disable',
    'postgres://me:pa%2Fss@db.example/shop?sslmode=verify-full#',
  ],
  wrong: [
    'postgres://me:1234/56@db.example/shop',
    'postgres://me:1234#56@db.example/shop',
    'postgres://me:12%zz@db.example/shop',
    'postgres://me:pass@db.example:99999/shop',
    'postgres://me:pass@db.example:0/shop',
    'postgres://me:pass@a.example,b.example:99999/shop',
    'postgres://me:pass@a.example,,b.example/shop',
    'postgres://me:pass@a.example, b.example/shop',
    'postgres://me:pass@db.example/shop?sslmode=on',
    'db.example/shop',
  ],
};
const REDIS: Spellings = {
  plain: 'rediss://me:pa%2Fss@queue.example:6379/2',
  same: ['rediss://%6De:pa%2fss@queue.example/2', 'rediss://me:pa%2Fss@queue.example:06379/02'],
  odd: [
    'REDISS://me:pa%2Fss@queue.example/2',
    'rediss://me:pa%2Fss@queue.example/2/',
    ' rediss://me:pa%2Fss@queue.example/2',
    'rediss:me:pa%2Fss@queue.example/2',
    'rediss://me:pa%2Fss@queue.example/2#',
  ],
  wrong: [
    'redis://queue.example/x',
    'redis://queue.example:99999',
    'redis://me:12%zz@queue.example',
    'redis://me:1234#56@queue.example',
    'redis://me:12/34@queue.example',
    'redis:queue.example',
    'queue.example:6379',
    'redis+sentinel://a, b/name',
    'redis+sentinel://a:0/name',
    'redis+sentinel://a/name?sentinel_password=a&sentinel_password=b',
    'redis+cluster://a,,b',
  ],
};
const FOLDER: Spellings = {
  plain: 'file:/srv/files',
  same: ['file:///srv/files', 'file://localhost/srv/files', 'file:/srv/files/'],
  odd: ['FILE:/srv/files', ' file:/srv/files', 'file:/srv//files', 'file:/srv/./files'],
  wrong: ['file:', 'file://elsewhere/srv/files', '/srv/files', 'files'],
};
const BUCKET: Spellings = {
  plain: 's3://id:se%2Fcret@bucket/some/prefix?region=eu-north-1&endpoint=https://s3.example',
  same: [
    'S3://id:se%2Fcret@bucket/some/prefix/?region=eu-north-1&endpoint=https://s3.example',
    's3://id:se%2fcret@bucket/some/prefix?endpoint=https%3A%2F%2FS3.example:443%2F&region=eu-north-1',
  ],
  odd: [
    's3://id:se%2Fcret@bucket//some/prefix?region=eu-north-1&endpoint=https://s3.example',
    's3://id:se%2Fcret@bucket/./some/prefix?region=eu-north-1&endpoint=https://s3.example',
    's3://id:se%2Fcret@bucket:9000/some/prefix?region=eu-north-1&endpoint=https://s3.example',
    's3://id:se%2Fcret@bucket/some/prefix?region=eu-north-1&region=us-east-1&endpoint=https://s3.example',
  ],
  wrong: [
    's3://id@bucket',
    's3://:pass@bucket',
    's3://bucket?region=',
    's3://bucket?endpoint=https://me:pass@s3.example',
    's3://bucket?endpoint=s3.example',
    's3://buck%20et',
    's3://bucket/a%zz',
    's3://',
    'bucket',
  ],
};
const TYPES: Spellings = {
  plain: 'image/*,application/pdf',
  same: ['Image/*, APPLICATION/pdf', ' image/* ,,application/pdf,'],
  odd: ['image/*;application/pdf', 'image/* application/pdf'],
  wrong: ['image', 'image/', '*/png', 'image/*,pdf', ','],
};
const NETWORKS: Spellings = {
  plain: '10.0.0.0/8,192.0.2.7',
  same: [' 10.0.0.0/8 , 192.0.2.7', '::ffff:10.0.0.0/104,::ffff:192.0.2.7', '10.1.2.3/8,::FFFF:c000:207'],
  odd: [
    '10.0.0.0/8,,192.0.2.7',
    '10/8,192.0.2.7',
    '012.0.0.0/8,192.0.2.7',
    '0x0a000000/8,192.0.2.7',
    '10.0.0.0/255.0.0.0,192.0.2.7',
  ],
  wrong: ['10.0.0.0/33', '10.0.0.0/-1', '0.0.0.0/0', '::ffff:0.0.0.0/96', 'proxy.example', 'LOOPBACK?'],
};
const KEY = Buffer.alloc(32, 7).toString('base64');
const KEYS: Spellings = {
  plain: `a:${KEY}`,
  same: [` a:${KEY} `, `a:${KEY.replace(/=+$/, '')}`],
  odd: [`a:${KEY}\n`, `a:"${KEY}"`],
  wrong: [KEY, `a:${KEY},`, `a:${KEY},a:${KEY}`, `a:${KEY.slice(4)}`, ':x'],
};
const NAME: Spellings = {
  plain: 'cell1',
  same: [],
  odd: [' cell1', 'cell1\n'],
  wrong: ['cell 1', '1cell', 'zelle_ü', 'a,b'],
};
const choice = (plain: string): Spellings => ({
  plain,
  same: [],
  odd: [plain.toUpperCase(), ` ${plain}`, `${plain}\r`],
  wrong: ['another', `${plain},${plain}`],
});
const at = (spellings: Spellings, most: number): Spellings => ({
  ...spellings,
  wrong: [...spellings.wrong, String(most + 1)],
});
const LARGEST = 2_147_483_647;

/** Texts that are taken as they are: there is one way to write each. */
const VERBATIM: readonly string[] = ['DATABASE_PASSWORD_COMMAND', 'PXADMIN_PASSWORD', 'QUEUE_PREFIX'];

/** By what a setting is, and by its name where it has values of its own. */
const OF: Readonly<Record<string, readonly Spellings[]>> = {
  DATABASE_URL: [DATABASE],
  DATABASE_DIRECT_URL: [DATABASE],
  DIRECTORY_URL: [DATABASE],
  TARGET_DATABASE_URL: [DATABASE],
  DATABASE_REPLICA_URLS: [
    DATABASE,
    {
      plain: 'postgres://me:x@a.example/shop,postgres://me:x@b.example/shop',
      same: [' postgres://me:x@a.example/shop ,, postgres://me:x@b.example/shop,'],
      odd: ['postgres://me:x@a.example/shop;postgres://me:x@b.example/shop'],
      wrong: ['postgres://me:x@a.example,b.example/shop', 'postgres://me:a,b@a.example/shop'],
    },
  ],
  REDIS_URL: [REDIS],
  STORAGE_URL: [FOLDER, BUCKET],
  ROWPOST_DATA_DIR: [
    { plain: '/srv/rowpost', same: ['/srv/rowpost/', '/srv//rowpost', '/srv/./rowpost'], odd: [], wrong: [] },
    { plain: '.rowpost', same: ['./.rowpost', '.rowpost/', 'x/../.rowpost'], odd: [], wrong: [] },
  ],
  BASE_URL: [{ ...ADDRESS, wrong: [...ADDRESS.wrong, WITH_PATH, `${WITH_PATH}/`] }, ...HOSTS],
  CELL_URL: [
    ADDRESS,
    ...HOSTS,
    { plain: WITH_PATH, same: [`${WITH_PATH}/`], odd: [`${WITH_PATH}//`], wrong: [] },
  ],
  CORS_ORIGINS: [
    LIST,
    {
      plain: 'https://a.example.com,*',
      same: ['*, https://a.example.com/'],
      odd: ['*,*,https://a.example.com'],
      wrong: [],
    },
    ...HOSTS,
  ],
  OIDC_RETURN_ORIGINS: [{ ...LIST, wrong: [...LIST.wrong, '*'] }, ...HOSTS],
  HOST: [LISTENING],
  HEALTH_HOST: [LISTENING],
  TRUST_PROXY: [NETWORKS, { plain: '2', same: ['02'], odd: [' 2', '2.0'], wrong: ['11', '-1', '1e0'] }],
  FILE_TYPES: [TYPES],
  SECRET_KEYS: [KEYS],
  SOURCE_SECRET_KEYS: [KEYS],
  CELL: [NAME],
  MAIL_TRANSPORT: [choice('sendgrid')],
  LOG_LEVEL: [choice('warn')],
  RETENTION_DAYS: [at(WHOLE, 999_999)],
  KEEP_EMAIL_DAYS: [at(WHOLE, 999_999)],
  PORT: [at(WHOLE, 65_535)],
  HEALTH_PORT: [at(WHOLE, 65_535)],
  // Below the least of the others.
  BODY_LIMIT_BYTES: [times(WHOLE, 100)],
  MAX_RESPONSE_BYTES: [times(WHOLE, 100)],
  LEASE_MS: [at(times(WHOLE, 100), LARGEST)],
  RENDER_PROCESSES: [{ ...WHOLE, plain: '12', same: ['012'], odd: ['12.0'] }],
  FILE_MAX_BYTES: [at(WHOLE, 5_368_709_120)],
  LIST_MAX_LIMIT: [at(WHOLE, LARGEST)],
  ...Object.fromEntries(
    CARRIER_SETTINGS.map(({ env }) => [
      env,
      [ADDRESS, ...HOSTS, { plain: WITH_PATH, same: [`${WITH_PATH}/`], odd: [`${WITH_PATH}//`], wrong: [] }],
    ]),
  ),
};

/** The same number with as many more zeros. */
function times(spellings: Spellings, factor: number): Spellings {
  const zeros = String(factor).slice(1);
  const longer = (text: string): string => text.replace(/120(?!\.)/, `120${zeros}`);
  return {
    plain: longer(spellings.plain),
    same: spellings.same.map(longer),
    odd: [`+120${zeros}`, `120${zeros}.0`],
    wrong: spellings.wrong.map(longer),
  };
}

const spellingsOf = (env: string, fallback: unknown): readonly Spellings[] | undefined => {
  if (VERBATIM.includes(env)) return [];
  if (OF[env]) return OF[env];
  if (typeof fallback === 'boolean') return [FLAG];
  return typeof fallback === 'number' ? [env.endsWith('_DAYS') ? WHOLE : at(WHOLE, LARGEST)] : undefined;
};

/** What a process makes of a setting: the whole configuration, and what drivers read from addresses. */
function outcome(env: string, text: string): unknown {
  // What a setting needs beside it.
  const beside: Readonly<Record<string, string>> =
    env === 'CELL' ? { DIRECTORY_URL: 'postgres://x/y' } : env === 'DIRECTORY_URL' ? { CELL: 'a' } : {};
  const given = { SECRET_KEYS: `t:${KEY}`, ...beside, [env]: text };
  const config = loadConfig(given);
  return JSON.parse(
    JSON.stringify(config, (name, value: unknown) => {
      if (value instanceof KeyRing) return value.sign('x', 'y').toString('hex');
      if (typeof value === 'function')
        return ['10.1.1.1', '192.0.2.7', '192.0.2.8', '11.0.0.1'].map((a) =>
          [0, 1, 2, 3].map((hop) => (value as typeof config.trustProxy.trusts)(a, hop)),
        );
      if (/^(database(Direct)?Url|directoryUrl|targetDatabaseUrl)$/.test(name))
        return databaseOf(value as string | undefined);
      if (name === 'databaseReplicaUrls') return (value as string[]).map(databaseOf);
      if (name === 'redisUrl' && typeof value === 'string') return redisOf(value);
      if (name === 'storageUrl') {
        const address = parseStorageUrl(value as string);
        return address.kind === 'folder' ? path.resolve(address.folder) : address;
      }
      return name === 'dataDir' ? path.resolve(value as string) : value;
    }),
  ) as unknown;
}

/** As pg reads it. */
function databaseOf(url: string | undefined): unknown {
  if (url === undefined) return undefined;
  const { hosts, url: first, requiresWritableSessions } = parseDatabaseUrl(url);
  const { user, password, database, host, port, ssl } = new pg.Client({ connectionString: first });
  return { hosts, requiresWritableSessions, user, password, database, host, port, ssl };
}

/** As ioredis reads it. */
function redisOf(url: string): unknown {
  const address = parseRedisUrl(url);
  if (address.kind !== 'server') return address;
  const { host, port, db, username, password, tls } = new Redis(address.url, { lazyConnect: true }).options;
  return { host, port, db, username, password, tls };
}

/** @returns the problems of a value that is refused; none if it is taken. */
function problemsOf(env: string, text: string): readonly string[] {
  try {
    outcome(env, text);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('the spelling of a setting', () => {
  for (const { env, fallback } of [...Object.values<Setting<unknown>>(SETTINGS), ...CARRIER_SETTINGS]) {
    it(`is equal to the plain one or refused with its name: ${env}`, () => {
      const all = spellingsOf(env, fallback);
      expect(all, `${env} has no spellings here`).to.not.equal(undefined);
      for (const { plain, same, odd, wrong } of all ?? []) {
        const expected = outcome(env, plain);
        for (const text of [...same, ...odd, ...wrong]) {
          const problems = problemsOf(env, text);
          const what = `${env}=${text}`;
          if (problems.length === 0) expect(outcome(env, text), what).to.deep.equal(expected);
          if (same.includes(text)) expect(problems, what).to.deep.equal([]);
          if (wrong.includes(text) || problems.length > 0)
            expect(problems.join(), what).to.include(`${env} `);
          expect(problems.join(), what).to.not.match(/1234|pass\b/);
        }
      }
    });
  }

  it('that was one is named, with what holds instead; empty, it is none', () => {
    const former = Object.keys(FORMER_SETTINGS);
    const named = (value: string): readonly string[] =>
      loadConfig(Object.fromEntries(former.map((name) => [name, value]))).formerSettings;
    expect(named('1').map((text) => text.split(' is no longer a setting, ')[0])).to.deep.equal(former);
    expect(named('')).to.deep.equal([]);
    const settings = Object.values(SETTINGS).map(({ env }) => env);
    expect(settings.filter((env) => former.includes(env))).to.deep.equal([]);
    for (const instead of Object.values(FORMER_SETTINGS)) {
      const [named] = /[A-Z]+(?:_[A-Z]+)+/.exec(instead) ?? [];
      if (named !== undefined) expect(settings).to.include(named);
    }
  });

  it('are at most sixty', () => {
    expect(Object.keys(SETTINGS)).to.have.length.at.most(60);
  });

  it('of BASE_URL without one is that of its port', () => {
    expect(loadConfig({ PORT: '80' }).baseUrl).to.equal('http://localhost');
    expect(loadConfig({ PORT: '8080' }).baseUrl).to.equal('http://localhost:8080');
  });
});

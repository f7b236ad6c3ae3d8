import { createRequire } from 'node:module';
import pg from 'pg';
import { hideChannels } from '../../src/db/pool/hideChannels.js';
import { QUEUE_SCHEMA } from '../../src/db/pool/database.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { contractOf } from './contract.js';

const must = contractOf('bullmq');

const { SQL_COMMANDS } = createRequire(import.meta.url)('bullmq/dist/cjs/postgres/sql-scripts.js') as {
  readonly SQL_COMMANDS: Readonly<Record<string, string>>;
};

/** PostgreSQL's functions for which `replaceAdvisoryLocks` has others, with their number of arguments. */
const REPLACED = new Set([
  'pg_advisory_xact_lock/1',
  'pg_advisory_xact_lock/2',
  'pg_advisory_xact_lock_shared/2',
  'pg_try_advisory_xact_lock/1',
  'pg_notify/2',
]);
const OURS = [...REPLACED].map((signature) => signature.split('/')[0]);

/** The calls of functions for locks and notifications, as written, with their number of arguments. */
function callsIn(code: string): readonly string[] {
  const plain = code.replace(/--.*$/gm, '');
  return [...plain.matchAll(/(?:\w+\.)?pg_\w*(?:advisory\w*|notify)\s*\(/g)].map(({ 0: start, index }) => {
    let [depth, count] = [1, 1];
    for (let at = index + start.length; depth > 0 && at < plain.length; at++) {
      if (plain[at] === '(') depth += 1;
      if (plain[at] === ')') depth -= 1;
      if (plain[at] === ',' && depth === 1) count += 1;
    }
    return `${start.slice(0, -1).trim()}/${count}`;
  });
}

describe('private parts of bullmq', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
  });
  after(() => test.drop());

  const readRoutines = async () => {
    const { rows } = await test.database.pool.query<{ name: string; code: string; config: string[] | null }>(
      `select proname as name, prosrc as code, proconfig as config from pg_proc
       where pronamespace = $1::text::regnamespace`,
      [QUEUE_SCHEMA],
    );
    return rows.filter(({ name }) => !OURS.includes(name));
  };

  it('its functions call `pg_advisory_xact_lock`, `pg_try_advisory_xact_lock`, `pg_notify`', async () => {
    const routines = await readRoutines();
    const codes = [...routines.map(({ code }) => code), ...Object.values(SQL_COMMANDS)];
    const called = new Set(codes.flatMap(callsIn));
    const others = [...called].filter((signature) => !REPLACED.has(signature));
    must(
      others.length === 0,
      `its SQL now also calls ${others.join(', ')}, which src/db/schema/queueLocks.ts does not replace`,
    );
    for (const signature of REPLACED)
      must(
        called.has(signature),
        `its SQL no longer calls ${signature}, which src/db/schema/queueLocks.ts replaces`,
      );
  });

  it('its functions have the `search_path` of their schema', async () => {
    const wanted = JSON.stringify([`search_path=${QUEUE_SCHEMA}, pg_catalog, pg_temp`]);
    const wrong = (await readRoutines()).filter(
      ({ name, code, config }) =>
        JSON.stringify(config) !== wanted &&
        // Without one, PostgreSQL's own functions are found first. The relay of BullMQ is not used.
        (config !== null || (callsIn(code).length > 0 && !name.startsWith('relay_'))),
    );
    const names = wrong.map(({ name, config }) => `${name} (${String(config)})`);
    must(
      wrong.length === 0,
      `src/db/schema/queueLocks.ts no longer recognizes the search_path of ${names.join(', ')}`,
    );
  });

  it('it subscribes by `query` with the text `LISTEN bullmq_…;`', async () => {
    const scripts = Object.entries(SQL_COMMANDS).filter(([, text]) => /^listen\b/im.test(text));
    must(scripts.length > 0, 'it no longer has scripts that subscribe');
    const client = new pg.Client({ connectionString: test.url });
    await client.connect();
    try {
      hideChannels(client);
      for (const [, text] of scripts) await client.query(text);
      const { rows } = await client.query<{ channel: string }>('select pg_listening_channels() as channel');
      const open = rows.filter(({ channel }) => !/_[0-9a-f]{32}$/.test(channel));
      must(
        open.length === 0,
        `src/db/pool/hideChannels.ts no longer recognizes ${open.map(({ channel }) => channel).join(', ')}`,
      );
      must(rows.length === scripts.length, 'its scripts no longer listen to one channel each');
    } finally {
      await client.end();
    }
  });

  it('table `migration`', async () => {
    const { rows } = await test.database.pool.query<{ found: boolean }>(
      'select to_regclass($1) is not null as found',
      [`${QUEUE_SCHEMA}.migration`],
    );
    must(rows[0]?.found === true, 'its schema no longer has the table migration');
  });
});

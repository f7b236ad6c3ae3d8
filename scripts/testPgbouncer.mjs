// npm run test:pgbouncer: the tests that read and write through the API, run through PgBouncer in transaction mode.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fail, projectDir, runNode } from './project.mjs';

/** What reaches PostgreSQL as the processes do. The others test the database itself, on connections of their own. */
const PARTS = [
  'graphql',
  'control',
  'contract',
  'delivery',
  'worker',
  'relay',
  'queue',
  'db/catalog',
  'db/ledger',
  'db/outbox',
].flatMap((part) => [part, `slow/${part}`]);
const FILES = [
  'test/db/pool/pgbouncer.test.ts',
  'test/db/isolation/databaseLayer.test.ts',
  'test/db/isolation/grantState.test.ts',
  'test/db/tenants/adoption.test.ts',
];

if (spawnSync('pgbouncer', ['--version']).status !== 0) {
  fail('pgbouncer is not on the PATH (Debian: apt-get install pgbouncer)');
}
const files = PARTS.filter((part) => existsSync(path.join(projectDir, 'test', part)))
  .flatMap((part) =>
    readdirSync(path.join(projectDir, 'test', part), { recursive: true })
      .filter((name) => name.endsWith('.test.ts'))
      .map((name) => `test/${part}/${name}`),
  )
  .concat(FILES)
  .sort();
const given = process.argv.slice(2);
process.env['TEST_PGBOUNCER'] = '1';
const mocha = path.join(projectDir, 'node_modules/mocha/bin/mocha.js');
process.exit(runNode([mocha, ...(given.length > 0 ? given : files)]));

import { execFile, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { parse } from 'yaml';
import { loadConfig } from '../../src/process/loadConfig.js';
import { testEnv } from '../support/testConfig.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = readFileSync(path.join(ROOT, 'docs/how-to/install.md'), 'utf8');
const COMPOSE = readFileSync(path.join(ROOT, 'deploy/compose.yaml'), 'utf8');

/** Of the page: the commands below a heading, as one script. */
function commandsOf(heading: string): string {
  const [, section = ''] = PAGE.split(`\n## ${heading}\n`);
  const blocks = [...section.split('\n## ')[0]!.matchAll(/^( *)```text\n(.*?)^\1```$/gms)];
  if (blocks.length === 0) throw new Error(`docs/how-to/install.md has no commands below "${heading}"`);
  return blocks
    .map(([, indent = '', text = '']) => text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''))
    .join('');
}

/** What needs root, a network or minutes. Each call is noted, one a line. */
const STUBBED = ['apt-get', 'su', 'systemctl', 'useradd', 'git', 'npm', 'docker', 'curl'];

describe('docs/how-to/install.md', () => {
  let root: string;
  let db: TestDatabase;
  before(async () => {
    db = await createTestDatabase();
    root = mkdtempSync(path.join(os.tmpdir(), 'rowpost-install-'));
    for (const folder of [
      'etc/redis',
      'etc/haproxy',
      'etc/systemd/system',
      'usr/local/bin',
      'opt',
      'tmp',
      'bin',
    ])
      mkdirSync(path.join(root, folder), { recursive: true });
    symlinkSync(ROOT, path.join(root, 'opt/rowpost'));
    // As Debian 12 has them.
    writeFileSync(
      path.join(root, 'etc/redis/redis.conf'),
      'port 6379\n# requirepass foobared\n# maxmemory-policy noeviction\n',
    );
    for (const name of STUBBED)
      writeFileSync(path.join(root, 'bin', name), `#!/bin/sh\necho ${name} "$@" >> '${root}/calls'\n`, {
        mode: 0o755,
      });
    const main = path.join(ROOT, 'dist/main.js');
    writeFileSync(path.join(root, 'bin/rowpost'), `#!/bin/sh\nexec '${process.execPath}' '${main}' "$@"\n`, {
      mode: 0o755,
    });
  });
  after(async () => {
    rmSync(root, { recursive: true, force: true });
    await db.drop();
  });

  /** Runs commands in a machine that is the folder. @returns what they print */
  function run(commands: string, input = ''): Promise<string> {
    const script = commands
      .replaceAll(/(?<![\w.])\/(?=(etc|usr|opt|tmp)\/)/g, `${root}/`)
      .replaceAll('<repository>', 'repository')
      .replaceAll('> deploy/.env', `> ${root}/.env`);
    return new Promise((resolve, reject) => {
      const env = { ...testEnv({ DATABASE_URL: db.url }), PATH: `${root}/bin:${process.env['PATH'] ?? ''}` };
      const child = execFile(
        'bash',
        ['--norc', '-euo', 'pipefail', '-c', script],
        { env, cwd: ROOT },
        (error, stdout, stderr) =>
          error ? reject(new Error(`${error.message}\n${stdout}${stderr}`)) : resolve(stdout),
      );
      child.stdin!.end(input);
    });
  }

  const calls = (): readonly string[] => readFileSync(path.join(root, 'calls'), 'utf8').trim().split('\n');

  it('gives Docker Compose every variable that has no default, readable by nobody else', async () => {
    await run(commandsOf('With Docker Compose'));
    const file = path.join(root, '.env');
    expect(statSync(file).mode & 0o777).to.equal(0o600);
    const given = new Map(
      readFileSync(file, 'utf8')
        .trim()
        .split('\n')
        .map((line) => /^(\w+)=(.*)$/.exec(line)!.slice(1) as [string, string]),
    );
    const named = new Set([...COMPOSE.matchAll(/\$\{(\w+):[?-]\}/g)].map(([, name = '']) => name));
    expect([...given.keys()]).to.have.members([...named]);
    // As docs/how-to/run.md says: it may be deleted after the first start.
    const required = [...COMPOSE.matchAll(/\$\{(\w+):\?\}/g)].map(([, name = '']) => name);
    expect([...named].filter((name) => !required.includes(name))).to.deep.equal(['PXADMIN_PASSWORD']);
    const { services } = parse(COMPOSE, { merge: true }) as {
      services: Record<string, { environment: Record<string, string> }>;
    };
    for (const name of ['release', 'web', 'relay', 'worker']) {
      const env = Object.entries(services[name]!.environment).map(([key, value]) => [
        key,
        value.replaceAll(
          /\$\{(\w+)(?::\?|:-([^}]*))\}/g,
          (_, variable: string, otherwise: string) => given.get(variable) ?? otherwise,
        ),
      ]);
      expect(() => loadConfig(Object.fromEntries(env) as Record<string, string>), name).not.to.throw();
    }
    expect(calls()).to.deep.equal([
      'docker compose -f deploy/compose.yaml up --detach',
      'docker compose -f deploy/compose.yaml exec worker node /app/dist/main.js doctor',
    ]);
  });

  it('makes the files of an installation on Debian', async () => {
    await run(commandsOf('On Debian'));
    const read = (file: string): string => readFileSync(path.join(root, file), 'utf8');
    const [, password = ''] = /^requirepass (\w{32})$/m.exec(read('etc/redis/redis.conf')) ?? [];
    expect(read('etc/redis/redis.conf')).to.match(/^maxmemory-policy noeviction$/m);

    const settings = read('etc/rowpost/rowpost.env');
    const env = Object.fromEntries(
      [...settings.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!]),
    );
    expect(() => loadConfig(env)).not.to.throw();
    expect(env).to.include({
      NODE_ENV: 'production',
      DATABASE_URL: `postgres://rowpost:${password}@localhost:5432/rowpost`,
      REDIS_URL: `redis://:${password}@localhost:6379`,
      STORAGE_URL: 'file:/var/lib/rowpost/files',
      TRUST_PROXY: 'loopback',
    });
    expect(env).not.to.have.property('PORT');
    for (const file of ['etc/rowpost/rowpost.env', 'etc/haproxy/rowpost.pem'])
      expect(statSync(path.join(root, file)).mode & 0o777, file).to.equal(0o600);
    expect(statSync(path.join(root, 'usr/local/bin/rowpost')).mode & 0o777).to.equal(0o755);

    const started = calls().flatMap((call) =>
      call.startsWith('systemctl') ? (call.match(/rowpost-\w+@?/g) ?? []) : [],
    );
    expect(new Set(started)).to.deep.equal(
      new Set(['rowpost-release', 'rowpost-web@', 'rowpost-relay@', 'rowpost-worker@']),
    );
    for (const unit of started)
      expect(existsSync(path.join(root, `etc/systemd/system/${unit}.service`)), unit).to.equal(true);

    const proxy = read('etc/haproxy/haproxy.cfg');
    for (const line of ['server web1 127.0.0.1:8081', 'server web2 127.0.0.1:8082', 'bind :443 ssl crt'])
      expect(proxy).to.include(line);
    const unit = read('etc/systemd/system/rowpost-web@.service');
    expect(unit).to.match(/PORT=808%i/);
    if (spawnSync('haproxy', ['-v']).error === undefined) {
      const { status, stderr } = spawnSync(
        'haproxy',
        ['-c', '-f', path.join(root, 'etc/haproxy/haproxy.cfg')],
        { encoding: 'utf8' },
      );
      expect(status, stderr).to.equal(0);
    }
  });

  it('creates a tenant with a table', async () => {
    // As the unit rowpost-release has done by then.
    await run("PXADMIN_PASSWORD='installation secret' rowpost release");
    const printed = await run(commandsOf('Then'), 'correct horse battery\n');
    const [created, changed, ...lines] = printed.trim().split('\n');
    expect(JSON.parse(created!)).to.include({ tenantid: 1 });
    expect(JSON.parse(changed!)).to.deep.include({ tables: ['customer'], problems: [] });
    expect(lines.length).to.be.above(10);
    expect(lines.filter((line) => !line.startsWith('✓'))).to.deep.equal([]);
  });
});

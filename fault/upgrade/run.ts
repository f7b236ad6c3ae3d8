// npm run upgrade: a rolling upgrade under load, behind HAProxy with the shipped configuration: no error, no email lost or sent twice.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findFreePort } from '../../src/embedded/freePort.js';
import { startFakeProvider } from '../../test/support/fakeProvider.js';
import { startRedis } from '../../test/support/redisServer.js';
import { startSeparateCluster } from '../../test/support/separateCluster.js';
import { testEnv } from '../../test/support/testConfig.js';
import { endRun } from '../../test/support/teardown.js';

const USAGE = `npm run upgrade -- --from <folder> [--rate 200]
  --from <folder>   the version before, 0.1.0 or later, built: with its dist/ and node_modules/
  --back            roll back as well: the processes of the version before again, on the newer schema
  --rate <n>        mutations a second, each of which sends an email`;
const TABLES = `
  create table customer (customer_id int primary key, email text not null);
  create table orders (order_id int primary key, customer_id int not null references customer);
  insert into customer values (1, 'ada@example.com');`;
/** Two of each, so that one can continue alone. */
const PARTS = ['web', 'web', 'relay', 'relay', 'worker', 'worker'] as const;
type Part = (typeof PARTS)[number];
const PAUSE_MS = 4_000;
const DRAIN_MS = 60_000;

const NEW = path.resolve(import.meta.dirname, '../..');
const { from: OLD, rate, back } = optionsOrExit();
const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-upgrade-'));
const cluster = await startSeparateCluster();
const redis = await startRedis();
const provider = await startFakeProvider();
const env = testEnv({
  DATABASE_URL: cluster.url,
  REDIS_URL: redis.url,
  PXADMIN_PASSWORD: 'upgrade-pxadmin-7',
  MAIL_TRANSPORT: 'sendgrid',
  SENDGRID_BASE_URL: provider.url,
  LOG_LEVEL: 'info',
  TRUST_PROXY: '1',
  PG_POOL: '14',
  SHUTDOWN_DELAY_MS: '5000',
});
const running: { readonly part: Part; readonly port: number; child: ChildProcess }[] = [];
let proxy: ChildProcess | undefined;

try {
  await drill();
} finally {
  for (const { child } of running) child.kill('SIGKILL');
  proxy?.kill('SIGTERM');
  await provider.stop();
  await redis.stop();
  await rm(folder, { recursive: true, force: true });
  await endRun();
}
process.exit(process.exitCode ?? 0);

async function drill(): Promise<void> {
  await command(OLD, 'release');
  const root = ['--root-login', 'root', '--root-password', 'upgrade-root-7'];
  const created = await command(OLD, 'tenant', 'create', '--name', 'shop', ...root);
  const { tenantid } = JSON.parse(created) as { tenantid: number };
  await writeFile(path.join(folder, 'tables.sql'), TABLES);
  await command(OLD, 'tenant', 'sql', '--tenant', String(tenantid), '-f', path.join(folder, 'tables.sql'));
  for (const part of PARTS) {
    const port = await findFreePort();
    running.push({ part, port, child: await start(OLD, part, port) });
  }
  const url = await startProxy(running.filter(({ part }) => part === 'web').map(({ port }) => port));
  const agent = new http.Agent({ keepAlive: true, maxSockets: 64 });
  const post = (to: string, body: object, token?: string): Promise<string> =>
    send(agent, url + to, body, token);
  const login = { login: 'root', password: 'upgrade-root-7', tenantid };
  const { access_token: token } = JSON.parse(await post('/auth', login)) as { access_token: string };
  await setUpEmails(async (query) => post('/roles_pbac', { query }, token));

  const acknowledged: number[] = [];
  const errors: string[] = [];
  let sent = 0;
  const load = setInterval(() => {
    const id = ++sent;
    const query = `mutation { create_orders(input: { order_id: ${id}, customer_id: 1 }) { order_id } }`;
    post('/query', { query }, token).then(
      (reply) => {
        if (reply === `{"data":{"create_orders":{"order_id":"${id}"}}}`) acknowledged.push(id);
        else errors.push(reply);
      },
      (error: unknown) => errors.push(String(error)),
    );
  }, 1_000 / rate);
  const say = (what: string): void => {
    console.log(
      `${what}: ${acknowledged.length} acknowledged, ${errors.length} errors, ${provider.calls.length} emails`,
    );
  };
  await delay(PAUSE_MS * 2);
  say('before');
  const releasedAt = performance.now();
  await command(NEW, 'release');
  say(`release of the new version, ${((performance.now() - releasedAt) / 1000).toFixed(1)} s`);
  await replaceAll(NEW, say);
  if (back)
    await replaceAll(OLD, (what) => {
      say(`back, ${what}`);
    });
  await delay(PAUSE_MS);
  clearInterval(load);
  const emails = new Map<number, number>();
  const until = performance.now() + DRAIN_MS;
  while (performance.now() < until) {
    emails.clear();
    for (const { body, accepted } of provider.calls) {
      const id = Number(/^Order (\d+)$/.exec(body.subject)?.[1]);
      if (accepted) emails.set(id, (emails.get(id) ?? 0) + 1);
    }
    if (acknowledged.length + errors.length === sent && acknowledged.every((id) => emails.has(id))) break;
    await delay(500);
  }
  const lost = acknowledged.filter((id) => !emails.has(id));
  const twice = [...emails].filter(([, count]) => count > 1);
  console.log(
    JSON.stringify({
      sent,
      acknowledged: acknowledged.length,
      errors: errors.length,
      lost: lost.length,
      duplicates: twice.length,
      examples: [...new Set(errors)].slice(0, 5),
    }),
  );
  if (errors.length + lost.length + twice.length > 0) process.exitCode = 1;
}

/** One after another: each is signaled and exits, and the other version starts in its place. */
async function replaceAll(version: string, say: (what: string) => void): Promise<void> {
  for (const one of running) {
    const ended = once(one.child, 'exit') as Promise<[number | null, string | null]>;
    one.child.kill('SIGTERM');
    const [code, signal] = await ended;
    if (code !== 0) throw new Error(`${one.part} ended with ${String(code ?? signal)}`);
    one.child = await start(version, one.part, one.port);
    await delay(PAUSE_MS);
    say(`${one.part} replaced`);
  }
}

async function setUpEmails(post: (mutation: string) => Promise<string>): Promise<void> {
  const done = async (mutation: string): Promise<string> => {
    const reply = await post(mutation);
    if (reply.includes('"errors"')) throw new Error(reply);
    return reply;
  };
  await done('mutation { set_email_apikey(apikey: "SG.upgrade") { apikey } }');
  await done(`mutation { create_email_type(input: { email_type: "confirmation", subject: "Order {{ records.new.order_id }}",
    sender: "shop@example.com", recipients: ["{{ found[0].email }}"], template: "<p>Order {{ records.new.order_id }}</p>",
    queries: [{ outvar: "found", query: "query ($filter: String) { customer(filter: $filter) { email } }",
      filter: "customer_id = {{ records.new.customer_id }}" }] }) { email_type } }`);
  const { data } = JSON.parse(await done(`{ role(filter: "login = 'root'") { roleid } }`)) as {
    data: { role: readonly { roleid: string }[] };
  };
  await done(`mutation { create_email_rule(input: { name: "confirm", operations: ["insert"], targets: ["orders"],
    email_type: "confirmation", query_roleid: ${data.role[0]?.roleid ?? ''} }) { ruleid } }`);
}

/** @returns the body. Rejects for all but 200 */
function send(agent: http.Agent, url: string, body: object, token?: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const text = JSON.stringify(body);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const request = http.request(url, { agent, method: 'POST', headers }, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => {
        const reply = Buffer.concat(parts).toString();
        if (response.statusCode === 200) resolve(reply);
        else reject(new Error(`${response.statusCode} ${reply.slice(0, 200)}`));
      });
    });
    request.on('error', reject).end(text);
  });
}

/** HAProxy as shipped, except for its connection limit, listen address and name resolution. @returns its address */
async function startProxy(ports: readonly number[]): Promise<string> {
  const shipped = await readFile(path.join(NEW, 'deploy/proxy/haproxy.cfg'), 'utf8');
  const port = await findFreePort();
  const servers = ports.map((each) => `  server web${each} 127.0.0.1:${each}`).join('\n');
  const config = shipped
    .replace(/^resolvers names\n(?: {2}.*\n)+/m, '')
    .replace('maxconn 10000', 'maxconn 1000')
    .replace('bind :8080', `bind 127.0.0.1:${port}`)
    .replace(/^ {2}server-template .*$/m, servers);
  const file = path.join(folder, 'haproxy.cfg');
  await writeFile(file, config);
  proxy = spawn('haproxy', ['-f', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  await delay(3_000);
  return `http://127.0.0.1:${port}`;
}

async function start(version: string, part: Part, port: number): Promise<ChildProcess> {
  const place = part === 'web' ? { PORT: String(port) } : { HEALTH_PORT: String(port) };
  const child = spawn(process.execPath, [path.join(version, 'dist/main.js'), part], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env, ...place },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  await new Promise<void>((resolve, reject) => {
    child.stderr.on('data', (part: Buffer) => {
      log = (log + part.toString()).slice(-10_000);
      if (log.includes('"started"')) resolve();
      for (const line of part.toString().split('\n')) {
        if (/"level":[56]0/.test(line)) console.log(line);
      }
    });
    child.once('exit', (code) =>
      reject(new Error(`${part} exited ${String(code)} before it started:\n${log}`)),
    );
  });
  return child;
}

async function command(version: string, ...args: readonly string[]): Promise<string> {
  const child = spawn(process.execPath, [path.join(version, 'dist/main.js'), ...args], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`rowpost ${args.join(' ')} exited ${String(code)}`);
  return Buffer.concat(parts).toString();
}

function optionsOrExit(): { readonly from: string; readonly rate: number; readonly back: boolean } {
  try {
    const { values } = parseArgs({
      options: { from: { type: 'string' }, rate: { type: 'string' }, back: { type: 'boolean' } },
    });
    const rate = Number(values.rate ?? 200);
    if (values.from === undefined || !(rate > 0))
      throw new Error('--from is missing, or --rate is no number');
    return { from: path.resolve(values.from), rate, back: values.back ?? false };
  } catch (error) {
    console.error(`${(error as Error).message}\n${USAGE}`);
    process.exit(2);
  }
}

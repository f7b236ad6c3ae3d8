// Many tenants in one web process, every tenth with code of its own: memory, the first response of a cold tenant, a crowd at
// one cold tenant, and requests to all of them in random order.
// Arguments: tenants, tables a tenant.
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { createInstallation, type BenchWeb } from '../support/installation.js';
import { median } from '../support/load.js';
import { describeMachine } from '../support/report.js';
import { cpuSeconds, postgresCpuSeconds, privateMiB } from '../pipeline/processFigures.js';
import { makeTenants, type SignedIn } from './makeTenants.js';

const TENANTS = Number(process.argv[2] ?? 1_000);
const TABLES = Number(process.argv[3] ?? 30);
const CROWD = 100;
const CODE_EVERY = 10;
const IN_FLIGHT = 16;
const MIXED_MS = 10_000;
const QUERY = '{ t2(limit: 10) { id name amount t1 { name } t3_collection { id status } } }';

// Nothing here writes: what the disk does is no part of it, and would make the tables of a thousand tenants slow.
const installation = await createInstallation('create table t (id int primary key)', { durable: false });
try {
  const catalogBefore = await catalogKiB(installation.databaseUrl);
  const startedAt = performance.now();
  const tenants = await makeTenants(installation.databaseUrl, TENANTS + 1, TABLES, CODE_EVERY);
  const catalog = ((await catalogKiB(installation.databaseUrl)) - catalogBefore) / tenants.length;
  console.log(`set up in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`);
  const web = await installation.startWeb({
    NODE_OPTIONS: `--import ${new URL('countBuilds.mjs', import.meta.url).href}`,
  });
  const [warm, ...others] = tenants;
  const crowded = others.pop();
  if (!warm || !crowded) throw new Error('there are too few tenants');
  // The process itself is warm: what is measured is the tenant.
  for (let n = 0; n < 200; n++) await ask(web, warm);

  const sessionMiB = Math.max(...(await sessionsMiB(installation.databaseUrl)));
  const cpu = await readCpu(web, installation.databaseUrl);
  const coldMs: number[] = [];
  const warmMs: number[] = [];
  for (const tenant of others) {
    coldMs.push(await ask(web, tenant));
    warmMs.push(await ask(web, tenant));
  }
  const cpuOfCold = await cpuSince(cpu, web, installation.databaseUrl, others.length);
  const grownMiB = (await sessionsMiB(installation.databaseUrl))
    .map((mib) => Math.max(0, mib - sessionMiB))
    .reduce((sum, mib) => sum + mib, 0);
  const counts = await countBuilds(web);
  await Promise.all(Array.from({ length: CROWD }, () => ask(web, crowded)));
  const crowd = await countBuilds(web);

  const mixed = await mix(web, others, installation.databaseUrl);

  console.log(`\n${TENANTS} tenants × ${TABLES} tables in one web process\n${describeMachine()}\n`);
  console.log(
    `first response of a cold tenant: p50 ${median(coldMs).toFixed(1)} ms, p99 ${percentile(coldMs, 0.99)} ms`,
  );
  console.log(`second response: p50 ${median(warmMs).toFixed(1)} ms, p99 ${percentile(warmMs, 0.99)} ms`);
  console.log(`CPU time of both: ${cpuOfCold}`);
  console.log(`built: ${JSON.stringify(counts)}`);
  console.log(`${CROWD} requests at once to a cold tenant built: ${JSON.stringify(crowd)}`);
  console.log(mixed);
  console.log(
    `a session of PostgreSQL: ${sessionMiB.toFixed(0)} MiB, and ${((grownMiB * 1024) / others.length).toFixed(0)} KiB for each tenant it has served`,
  );
  console.log(`catalogs on the disk: ${catalog.toFixed(0)} KiB a tenant`);
  console.log(`memory of the web process: ${memory(web)}`);
} finally {
  await installation.stop();
}

/** @returns milliseconds to the response, which must hold a row */
async function ask({ baseUrl }: BenchWeb, { token }: SignedIn): Promise<number> {
  const startedAt = performance.now();
  const response = await fetch(`${baseUrl}/query`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({ query: QUERY }),
  });
  const text = await response.text();
  if (!text.startsWith('{"data":{"t2":[{')) throw new Error(text);
  return performance.now() - startedAt;
}

/** Requests to tenants in random order, and the connections that the web process takes for them. */
async function mix(web: BenchWeb, tenants: readonly SignedIn[], databaseUrl: string): Promise<string> {
  const times = { plain: [] as number[], code: [] as number[] };
  const cpu = await readCpu(web, databaseUrl);
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  let maxConnections = 0;
  const endsAt = performance.now() + MIXED_MS;
  const request = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const tenant = tenants[Math.floor(Math.random() * tenants.length)];
      if (tenant) times[tenant.hasCode ? 'code' : 'plain'].push(await ask(web, tenant));
    }
  };
  const watch = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const { rows } = await client.query<{ count: number }>(
        "select count(*)::int as count from pg_stat_activity where datname = current_database() and application_name = 'rowpost web'",
      );
      maxConnections = Math.max(maxConnections, rows[0]?.count ?? 0);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  };
  await Promise.all([watch(), ...Array.from({ length: IN_FLIGHT }, request)]);
  await client.end();
  const used = await cpuSince(cpu, web, databaseUrl, times.plain.length + times.code.length);
  const perSecond = ((times.plain.length + times.code.length) * 1000) / MIXED_MS;
  const said = (values: readonly number[]): string =>
    `p50 ${median(values).toFixed(1)} ms, p95 ${percentile(values, 0.95)} ms`;
  return `${IN_FLIGHT} in flight, tenants at random: ${perSecond.toFixed(0)}/s; without code ${said(times.plain)}; with code ${said(times.code)}; at most ${maxConnections} connections; CPU time of a request: ${used}`;
}

interface Cpu {
  readonly web: number;
  readonly postgres: number;
}

async function readCpu({ process: { child } }: BenchWeb, databaseUrl: string): Promise<Cpu> {
  return { web: await cpuSeconds(child.pid ?? 0), postgres: await postgresCpuSeconds(databaseUrl) };
}

async function cpuSince(before: Cpu, web: BenchWeb, databaseUrl: string, times: number): Promise<string> {
  const now = await readCpu(web, databaseUrl);
  const each = (part: keyof Cpu): string => (((now[part] - before[part]) * 1000) / times).toFixed(1);
  return `${each('web')} ms in web, ${each('postgres')} in PostgreSQL`;
}

async function countBuilds({ process: { child, log } }: BenchWeb): Promise<unknown> {
  const seen = log().length;
  child.kill('SIGUSR2');
  for (;;) {
    const counted = /counted (\{.*\})/.exec(log().slice(seen))?.[1];
    if (counted !== undefined) return JSON.parse(counted) as unknown;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Memory of each of the web process's sessions. A tenant that asks again is served by the same as before. */
async function sessionsMiB(databaseUrl: string): Promise<readonly number[]> {
  const sessions = await select<{ pid: number }>(
    databaseUrl,
    "select pid from pg_stat_activity where datname = current_database() and application_name = 'rowpost web'",
  );
  return Promise.all(sessions.map(({ pid }) => privateMiB(pid)));
}

async function catalogKiB(databaseUrl: string): Promise<number> {
  const [size] = await select<{ kib: number }>(
    databaseUrl,
    `select (sum(pg_relation_size(oid)) / 1024)::float8 as kib from pg_class
      where relnamespace = 'pg_catalog'::regnamespace and relkind in ('r', 'i')`,
  );
  return size?.kib ?? Number.NaN;
}

async function select<Row extends pg.QueryResultRow>(
  databaseUrl: string,
  statement: string,
): Promise<readonly Row[]> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query<Row>(statement);
  await client.end();
  return rows;
}

function memory({ process: { child } }: BenchWeb): string {
  const status = readFileSync(`/proc/${String(child.pid)}/status`, 'utf8');
  const megabytes = (name: string): string =>
    `${Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)} MB`;
  return `${megabytes('VmRSS')} RSS, ${megabytes('VmHWM')} at most`;
}

function percentile(values: readonly number[], part: number): string {
  const sorted = [...values].sort((a, b) => a - b);
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN).toFixed(1);
}

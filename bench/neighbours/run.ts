// One tenant's lists alone and beside a hostile tenant, in turns: how much its p95 rises with each attack.
// Arguments: seconds a turn, rounds.
import { Worker } from 'node:worker_threads';
import { createInstallation, post, signInAsRoot } from '../support/installation.js';
import { median } from '../support/load.js';
import { describeMachine } from '../support/report.js';

const SECONDS = Number(process.argv[2] ?? 5);
const ROUNDS = Number(process.argv[3] ?? 3);
const CONNECTIONS = 4;
const PAUSE_MS = 5;
const NOTES = `create table note (id int primary key, body text);
  insert into note select i, repeat('x', 100) from generate_series(1, 1000) i;`;
const HOSTILE = `${NOTES} create table secret (id int primary key); create table large (id int primary key, body text);
  insert into large select i, repeat('x', 1000000) from generate_series(1, 13) i;
  create view slow as select 1 as id from pg_sleep(14);`;
const ATTACKS = [
  'readers that do not read',
  'documents of 999 aliases, anonymous',
  'documents of 399 aliases, anonymous',
  'documents of 999 aliases, a role',
  'documents of 999 aliases at /roles_pbac',
  'clients that make roles',
  'clients that read',
  'queries of 15 s',
];

interface Turn {
  readonly p50: number;
  readonly p95: number;
  /** Responses that were none. */
  readonly refused: number;
}

const installation = await createInstallation(HOSTILE, { durable: false });
try {
  const { baseUrl } = await installation.startWeb();
  const hostile = installation.tenantid;
  const other = await signInAsRoot(baseUrl, (await installation.addTenant(NOTES)).tenantid);
  const role = await signInAsRoot(baseUrl, hostile);
  await post(`${baseUrl}/roles_pbac`, { query: '{ Utility { anonymous_logins(enable: true) } }' }, role);
  const create = 'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }';
  const input = { name: 'all', capabilities: ['select'], targets: ['note'] };
  await post(`${baseUrl}/roles_pbac`, { query: create, variables: { input } }, role);
  const visit = await post<{ access_token: string }>(`${baseUrl}/anonauth`, { tenantid: hostile });
  const workerData = { port: Number(new URL(baseUrl).port), role, nobody: visit.access_token };
  await measure(baseUrl, other);

  console.log(`\nA tenant's list of 100 rows beside another tenant's attack\n${describeMachine()}\n`);
  console.log(
    '| | p50 ms alone | beside | ratio | p95 ms alone | beside | ratio | refused | attack answered |',
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const kind of ATTACKS) {
    const alone: Turn[] = [];
    const beside: Turn[] = [];
    const responses: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      alone.push(await measure(baseUrl, other));
      const attack = new Worker(new URL('./attack.mjs', import.meta.url), {
        workerData: { ...workerData, kind },
      });
      beside.push(await measure(baseUrl, other));
      responses.push(await stop(attack));
    }
    const columns = (['p50', 'p95'] as const).flatMap((name) => {
      const [one, two] = [alone, beside].map((turns) => median(turns.map((turn) => turn[name])));
      return [(one ?? 0).toFixed(1), (two ?? 0).toFixed(1), ((two ?? 0) / (one ?? 1)).toFixed(2)];
    });
    const refused = beside.reduce((sum, turn) => sum + turn.refused, 0);
    console.log(`| ${[kind, ...columns, refused, responses.join('; ')].join(' | ')} |`);
  }
} finally {
  await installation.stop();
}

function stop(attack: Worker): Promise<string> {
  return new Promise((resolve) => {
    attack.once('message', (responses) => {
      attack.once('exit', () => resolve(JSON.stringify(responses).replaceAll('"', '')));
    });
    attack.postMessage('stop');
  });
}

async function measure(baseUrl: string, token: string): Promise<Turn> {
  const ms: number[] = [];
  let refused = 0;
  const endsAt = performance.now() + SECONDS * 1_000;
  const loop = async (): Promise<void> => {
    while (performance.now() < endsAt) {
      const startedAt = performance.now();
      const response = await fetch(`${baseUrl}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
        body: JSON.stringify({ query: '{ note(limit: 100) { id body } }' }),
      });
      await response.arrayBuffer();
      ms.push(performance.now() - startedAt);
      if (!response.ok) refused += 1;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, loop));
  ms.sort((a, b) => a - b);
  const at = (share: number): number => ms[Math.floor(ms.length * share)] ?? Number.NaN;
  return { p50: at(0.5), p95: at(0.95), refused };
}

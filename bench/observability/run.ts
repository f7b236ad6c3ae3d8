// What metrics, scraped every five seconds, and traces cost a web process: CPU time a request at an even rate. All contenders run
// at the same time, so that what else the machine does reaches them alike; in turns, they scatter by a fifth.
import { readdir, readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import { startChildServer } from '../support/childServer.js';
import { createInstallation, post, signInUnderPolicy, type BenchWeb } from '../support/installation.js';
import { median } from '../support/load.js';
import { describeMachine } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';

const CONNECTIONS = 8;
const SECONDS = 5;
const rounds = Number(process.argv[2] ?? 20);

const installation = await createInstallation(SHOP_TABLES + fillShop(50));
const collector = await startChildServer(new URL('collector.ts', import.meta.url), []);
const withoutMetrics = {
  NODE_OPTIONS: `--import ${new URL('withoutMetrics.mjs', import.meta.url).href}`,
};
const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
};
interface Contender {
  readonly name: string;
  readonly web: BenchWeb;
  readonly scraped: boolean;
  /** Of each round: the requests, and the CPU time at its begin in milliseconds. */
  requests: number[];
  cpuMs: number[];
}
const contender = async (
  name: string,
  env: Readonly<Record<string, string>>,
  scraped = true,
): Promise<Contender> => ({ name, web: await installation.startWeb(env), scraped, requests: [], cpuMs: [] });
const base = await contender('without metrics', withoutMetrics, false);
const shipped = await contender('as shipped', {});
const contenders = [
  base,
  shipped,
  await contender('traces of 10 %', { ...tracing, OTEL_TRACES_SAMPLER_ARG: '0.1' }),
  await contender('traces of all', { ...tracing, OTEL_TRACES_SAMPLER_ARG: '1' }),
];
const token = await signInUnderPolicy(base.web.baseUrl, installation.tenantid, {
  capabilities: ['select', 'insert'],
  targets: ['customer', 'orders', 'item'],
});
const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
const REQUESTS = [
  {
    name: 'one row',
    rate: 500,
    body: {
      query: 'query One ($filter: String) { customer(filter: $filter) { customer_id name email city } }',
      variables: { filter: 'customer_id = 1' },
    },
  },
  {
    name: 'create',
    rate: 200,
    body: {
      query: 'mutation ($input: itemInput) { create_item(input: $input) { item_id product } }',
      variables: { input: { order_id: 1, product: 'Letter paper, laid', quantity: 2, price: 14.5 } },
    },
  },
];

/** Milliseconds of CPU that all threads of the process have taken. */
async function cpuOf({ process: { child } }: BenchWeb): Promise<number> {
  const folder = `/proc/${child.pid}/task`;
  const threads = await readdir(folder);
  const times = await Promise.all(threads.map((thread) => readFile(`${folder}/${thread}/schedstat`, 'utf8')));
  return times.reduce((sum, time) => sum + Number(time.split(' ')[0]) / 1e6, 0);
}

async function scrape(web: BenchWeb): Promise<void> {
  await (await fetch(`${web.baseUrl}/metrics`)).text();
}

/** @returns the number of requests */
async function run({ web }: Contender, rate: number, body: string): Promise<number> {
  const { requests, non2xx } = await autocannon({
    url: `${web.baseUrl}/query`,
    method: 'POST',
    headers,
    body,
    connections: CONNECTIONS,
    overallRate: rate,
    duration: SECONDS,
  });
  if (non2xx > 0) throw new Error(`${non2xx} responses were not 2xx`);
  return requests.total;
}

/** Microseconds of CPU a request, by round. */
function cpuByRound({ requests, cpuMs }: Contender): number[] {
  return requests.map((count, round) => (((cpuMs[round + 1] ?? 0) - (cpuMs[round] ?? 0)) * 1_000) / count);
}

function ratios(one: Contender, to: Contender): number[] {
  const others = cpuByRound(to);
  return cpuByRound(one).map((cpu, round) => cpu / (others[round] ?? Number.NaN));
}

console.log(`${describeMachine()}, ${rounds} rounds of ${SECONDS} s, all at once`);
for (const { name: request, rate, body } of REQUESTS) {
  const text = JSON.stringify(body);
  for (const one of contenders) {
    one.requests = [];
    one.cpuMs = [];
    await post(`${one.web.baseUrl}/query`, body, token);
  }
  await Promise.all(contenders.map((one) => run(one, rate, text)));
  for (let round = 0; round < rounds; round++) {
    for (const one of contenders) one.cpuMs.push(await cpuOf(one.web));
    await Promise.all(
      contenders.map(async (one) => {
        if (one.scraped) await scrape(one.web);
        one.requests.push(await run(one, rate, text));
      }),
    );
  }
  for (const one of contenders) one.cpuMs.push(await cpuOf(one.web));
  console.log(`\n${request}, ${rate} a second each\n`);
  console.log(
    '| | CPU µs a request | to without metrics, median of the rounds | to as shipped | middle half |',
  );
  console.log('| --- | --- | --- | --- | --- |');
  for (const one of contenders) {
    const toBase = ratios(one, base);
    const toShipped = ratios(one, shipped).sort((a, b) => a - b);
    const quartile = (part: number): string =>
      (toShipped[Math.floor(rounds * part)] ?? Number.NaN).toFixed(2);
    console.log(
      `| ${one.name} | ${median(cpuByRound(one)).toFixed(0)} | ${median(toBase).toFixed(3)} | ` +
        `${median(toShipped).toFixed(3)} | ${quartile(0.25)}–${quartile(0.75)} |`,
    );
  }
}
const SCRAPES = 100;
for (const { name, web } of contenders.slice(0, 2)) {
  const before = await cpuOf(web);
  for (let count = 0; count < SCRAPES; count++) await scrape(web);
  console.log(`\n${name}: a scrape takes ${(((await cpuOf(web)) - before) / SCRAPES).toFixed(1)} ms of CPU`);
}
await collector.stop();
await installation.stop();

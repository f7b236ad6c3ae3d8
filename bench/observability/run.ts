// What metrics, scraped every five seconds, and traces cost a web process: CPU time a request at an even rate.
import { readdir, readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import { startChildServer } from '../support/childServer.js';
import { createInstallation, post, signInUnderPolicy, type BenchWeb } from '../support/installation.js';
import { median } from '../support/load.js';
import { describeMachine } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';

const CONNECTIONS = 16;
const SECONDS = 5;
const SCRAPE_MS = 5_000;
const rounds = Number(process.argv[2] ?? 7);

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
  /** Microseconds of CPU a request. */
  cpu: number[];
}
const contender = async (
  name: string,
  env: Readonly<Record<string, string>>,
  scraped = true,
): Promise<Contender> => ({ name, web: await installation.startWeb(env), scraped, cpu: [] });
const base = await contender('without metrics', withoutMetrics, false);
const contenders = [
  base,
  await contender('as shipped', {}),
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
    rate: 2_000,
    body: {
      query: 'query One ($filter: String) { customer(filter: $filter) { customer_id name email city } }',
      variables: { filter: 'customer_id = 1' },
    },
  },
  {
    name: 'create',
    rate: 800,
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

/** @returns microseconds of CPU a request */
async function run({ web, scraped }: Contender, rate: number, body: string): Promise<number> {
  const scrape = (): void => void fetch(`${web.baseUrl}/metrics`).then((answer) => answer.text());
  const scrapes = scraped ? setInterval(scrape, SCRAPE_MS) : undefined;
  if (scraped) scrape();
  const before = await cpuOf(web);
  const { requests, non2xx } = await autocannon({
    url: `${web.baseUrl}/query`,
    method: 'POST',
    headers,
    body,
    connections: CONNECTIONS,
    overallRate: rate,
    duration: SECONDS,
  });
  clearInterval(scrapes);
  if (non2xx > 0) throw new Error(`${non2xx} answers were not 2xx`);
  return (((await cpuOf(web)) - before) / requests.total) * 1_000;
}

console.log(`${describeMachine()}, ${rounds} rounds of ${SECONDS} s in turns`);
for (const { name: request, rate, body } of REQUESTS) {
  for (const one of contenders) {
    one.cpu = [];
    await post(`${one.web.baseUrl}/query`, body, token);
    await run(one, rate, JSON.stringify(body));
  }
  for (let round = 0; round < rounds; round++) {
    const first = round % contenders.length;
    for (const one of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      one.cpu.push(await run(one, rate, JSON.stringify(body)));
    }
  }
  console.log(
    `\n${request}, ${rate} a second\n\n| | CPU µs a request | ratio, median of the rounds | of each round |`,
  );
  console.log('| --- | --- | --- | --- |');
  for (const { name, cpu } of contenders) {
    const ratios = cpu.map((value, round) => value / (base.cpu[round] ?? Number.NaN));
    const each = ratios.map((ratio) => ratio.toFixed(2)).join(' ');
    console.log(`| ${name} | ${median(cpu).toFixed(0)} | ${median(ratios).toFixed(3)} | ${each} |`);
  }
}
const SCRAPES = 100;
for (const { name, web } of contenders.slice(0, 2)) {
  const before = await cpuOf(web);
  for (let scrape = 0; scrape < SCRAPES; scrape++) await (await fetch(`${web.baseUrl}/metrics`)).text();
  console.log(`\n${name}: a scrape takes ${(((await cpuOf(web)) - before) / SCRAPES).toFixed(1)} ms of CPU`);
}
await collector.stop();
await installation.stop();

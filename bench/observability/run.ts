// What metrics, scraped every two seconds, and traces of one request in ten cost a web process, by CPU time and rate.
import { readFile } from 'node:fs/promises';
import { startChildServer } from '../support/childServer.js';
import { createInstallation, post, signInUnderPolicy, type BenchWeb } from '../support/installation.js';
import { measure, median } from '../support/load.js';
import { describeMachine } from '../support/report.js';
import { fillShop, SHOP_TABLES } from '../support/shop.js';

const CONNECTIONS = 16;
const SECONDS = 4;
/** Of `measure`, at the same load: its requests are taken to be as many a second. */
const WARM_UP_SECONDS = 2;
const SCRAPE_MS = 2_000;
/** Of /proc/<pid>/stat. */
const TICKS_PER_SECOND = 100;
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
  rates: number[];
  /** Microseconds of CPU a request. */
  cpu: number[];
}
const contender = async (
  name: string,
  env: Readonly<Record<string, string>>,
  scraped = true,
): Promise<Contender> => ({ name, web: await installation.startWeb(env), scraped, rates: [], cpu: [] });
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
const REQUESTS = {
  'one row': JSON.stringify({
    query: 'query One ($id: ID) { customer(id: $id) { customer_id name email city } }',
    variables: { id: 1 },
  }),
  create: JSON.stringify({
    query: 'mutation ($input: itemInput) { create_item(input: $input) { item_id product } }',
    variables: { input: { order_id: 1, product: 'Letter paper, laid', quantity: 2, price: 14.5 } },
  }),
};

/** Seconds of CPU that the process has taken. */
async function cpuOf({ process: { child } }: BenchWeb): Promise<number> {
  const stat = await readFile(`/proc/${child.pid}/stat`, 'utf8');
  const [user = 0, system = 0] = stat.slice(stat.lastIndexOf(')')).split(' ').slice(12, 14).map(Number);
  return (user + system) / TICKS_PER_SECOND;
}

console.log(`${describeMachine()}, ${CONNECTIONS} connections, ${rounds} rounds of ${SECONDS} s in turns`);
for (const [request, body] of Object.entries(REQUESTS)) {
  for (const one of contenders) {
    one.rates = [];
    one.cpu = [];
    await post(`${one.web.baseUrl}/query`, JSON.parse(body), token);
  }
  for (let round = 0; round < rounds; round++) {
    for (const { name, web, scraped, rates, cpu } of contenders) {
      const scrapes = scraped
        ? setInterval(() => void fetch(`${web.baseUrl}/metrics`).then((answer) => answer.text()), SCRAPE_MS)
        : undefined;
      const load = { name, url: `${web.baseUrl}/query`, headers, body };
      const before = await cpuOf(web);
      const [measured] = await measure([load], { connections: CONNECTIONS, seconds: SECONDS, rounds: 1 });
      const seconds = (await cpuOf(web)) - before;
      clearInterval(scrapes);
      const [rate = Number.NaN] = measured?.rates ?? [];
      rates.push(rate);
      cpu.push((seconds / (rate * (SECONDS + WARM_UP_SECONDS))) * 1e6);
    }
  }
  console.log(
    `\n${request}\n\n| | req/s | ratio by round (median) | CPU µs a request | ratio by round (median) |`,
  );
  console.log('| --- | --- | --- | --- | --- |');
  for (const { name, rates, cpu } of contenders) {
    const ratio = (values: readonly number[], against: readonly number[]): string =>
      median(values.map((value, round) => value / (against[round] ?? Number.NaN))).toFixed(3);
    const cells = [
      median(rates).toFixed(0),
      ratio(rates, base.rates),
      median(cpu).toFixed(0),
      ratio(cpu, base.cpu),
    ];
    console.log(`| ${name} | ${cells.join(' | ')} |`);
  }
}
await collector.stop();
await installation.stop();

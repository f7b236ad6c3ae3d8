import { startBareHop } from './bareHop.js';
import { runClosedLoad } from './closedLoad.js';
import { describeLatency, measureLatency, type EmailLatency } from './emailLatency.js';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { percentile } from './numbers.js';
import { median } from '../support/load.js';
import type { Options } from './options.js';
import { withSite } from './site.js';

const CONNECTIONS = 32;
/** Emails in flight at once, of both: Rowpost's default. */
const CONCURRENCY = 64;
/**
 * Until V8 has compiled what runs often: services run for days, and before that an email takes up to twice as long. As fast
 * as the machine sends, so that none is overrun.
 */
const WARM_UP = { connections: 8, warmUpSeconds: 0, seconds: 30, maxBehind: 200 };
/** The first email after a while, whose way may lead through connections that have to be opened. */
const SELDOM = { perSecond: 1 / 12, seconds: 61 };
const ROUNDS = 5;
const P50_MS = 10;
const P99_MS = 50;
/** At 200/s, of the bare hop's. */
const P50_RATIO = 2;
const P99_RATIO = 2.5;

/**
 * From the commit to the carrier, at a steady rate through one web, one relay and one worker, in turns with two processes
 * that insert a row, add a job after the commit and send.
 */
export async function latency({ seconds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const { shop, carrier } = site;
      const { baseUrl } = await site.startAll(backend);
      const hop = await startBareHop(site, backend, { connections: CONNECTIONS, concurrency: CONCURRENCY });
      const rowpost = mutateRowpost(baseUrl, shop, CONNECTIONS);
      for (const mutator of [rowpost, hop.mutator]) await runClosedLoad(mutator, carrier, WARM_UP);

      const slow = await measureLatency(rowpost, carrier, { perSecond: 10, seconds });
      findings.note(`${backend}, 10/s: ${describeLatency(slow)}`);
      compareWithLimits(`${backend}, 10/s`, [slow], findings);

      const seldom = await measureLatency(rowpost, carrier, SELDOM);
      findings.note(`${backend}, each 12 s: ${describeLatency(seldom)}`);

      const [ours, bare]: [EmailLatency[], EmailLatency[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++) {
        ours.push(await measureLatency(rowpost, carrier, { perSecond: 200, seconds }));
        bare.push(await measureLatency(hop.mutator, carrier, { perSecond: 200, seconds }));
      }
      for (const each of ours) findings.note(`${backend}, 200/s: ${describeLatency(each)}`);
      for (const each of bare) findings.note(`${backend}, 200/s, bare hop: ${describeLatency(each)}`);
      compareWithLimits(`${backend}, 200/s`, ours, findings);
      for (const [share, atMost] of [
        [0.5, P50_RATIO],
        [0.99, P99_RATIO],
      ] as const) {
        const name = `commit → accepted, ${backend}, 200/s, p${share * 100} ÷ bare hop`;
        findings.bar(name, medianAt(ours, share) / medianAt(bare, share), { atMost });
      }
      rowpost.close();
      await hop.stop();
    });
  }
}

function compareWithLimits(load: string, rounds: readonly EmailLatency[], findings: Findings): void {
  const name = `commit → accepted, ${load}`;
  findings.bar(`${name}, p50`, medianAt(rounds, 0.5), { atMost: P50_MS, unit: 'ms' });
  findings.bar(`${name}, p99`, medianAt(rounds, 0.99), { atMost: P99_MS, unit: 'ms' });
}

/** The percentile of each round, and the median of these. */
function medianAt(rounds: readonly EmailLatency[], share: number): number {
  return median(rounds.map(({ fromWrite }) => percentile(fromWrite, share)));
}

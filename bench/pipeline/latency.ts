import { createTwin } from '../twin/twin.js';
import { startBareHop } from './bareHop.js';
import { runClosedLoad } from './closedLoad.js';
import { describeLatency, measureLatency, type EmailLatency } from './emailLatency.js';
import type { Findings } from './findings.js';
import { mutateByHand, mutateRowpost } from './mutations.js';
import { percentile } from './numbers.js';
import { median } from '../support/load.js';
import type { Options } from './options.js';
import { describeCpu, readCpu } from './sustained.js';
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
const HOP_RATIOS = { p50: 2, p99: 2.5 };
/** And of the program by hand, which keeps the same promises. */
const TWIN_RATIOS = { p50: 1.5, p99: 2 };

/**
 * From the commit to the carrier, at a steady rate through one web, one relay and one worker, in turns with two processes
 * that insert a row, add a job after the commit and send, and with the program by hand (bench/twin).
 */
export async function latency({ seconds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const { shop, carrier } = site;
      const running = await site.startAll(backend);
      const { baseUrl } = running;
      const hop = await startBareHop(site, backend, { connections: CONNECTIONS, concurrency: CONCURRENCY });
      const twin = await createTwin(site, backend, CONCURRENCY);
      const parts = [await twin.start('worker'), await twin.start('relay')];
      const twinWeb = await twin.start('web');
      const rowpost = mutateRowpost(baseUrl, shop, CONNECTIONS);
      const byHand = mutateByHand(twinWeb.url, CONNECTIONS);
      for (const mutator of [rowpost, byHand, hop.mutator]) await runClosedLoad(mutator, carrier, WARM_UP);

      const slow = await measureLatency(rowpost, carrier, { perSecond: 10, seconds });
      findings.note(`${backend}, 10/s: ${describeLatency(slow)}`);
      compareWithLimits(`${backend}, 10/s`, [slow], findings);

      const seldom = await measureLatency(rowpost, carrier, SELDOM);
      findings.note(`${backend}, each 12 s: ${describeLatency(seldom)}`);

      for (const perSecond of [50, 200]) {
        const [ours, theirs, bare]: [EmailLatency[], EmailLatency[], EmailLatency[]] = [[], [], []];
        for (let round = 0; round < ROUNDS; round++) {
          const before = await readCpu(site, running);
          const measured = await measureLatency(rowpost, carrier, { perSecond, seconds });
          ours.push(measured);
          const cpu = describeCpu(before, await readCpu(site, running), measured.fromWrite.length);
          findings.note(`${backend}, ${perSecond}/s: ${cpu}`);
          theirs.push(await measureLatency(byHand, carrier, { perSecond, seconds }));
          bare.push(await measureLatency(hop.mutator, carrier, { perSecond, seconds }));
        }
        const load = `${backend}, ${perSecond}/s`;
        for (const each of ours) findings.note(`${load}: ${describeLatency(each)}`);
        for (const each of theirs) findings.note(`${load}, program by hand: ${describeLatency(each)}`);
        for (const each of bare) findings.note(`${load}, bare hop: ${describeLatency(each)}`);
        compareWithLimits(load, ours, findings);
        compareWithPeer(load, 'program by hand', ours, theirs, TWIN_RATIOS, findings);
        compareWithPeer(load, 'bare hop', ours, bare, HOP_RATIOS, findings);
      }
      byHand.close();
      for (const part of [twinWeb, ...parts]) await part.stop();
      await twin.stop();
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

function compareWithPeer(
  load: string,
  peer: string,
  ours: readonly EmailLatency[],
  theirs: readonly EmailLatency[],
  limits: { readonly p50: number; readonly p99: number },
  findings: Findings,
): void {
  const name = `commit → accepted, ${load}`;
  const ratio = (share: number): number => medianAt(ours, share) / medianAt(theirs, share);
  findings.bar(`${name}, p50 ÷ ${peer}`, ratio(0.5), { atMost: limits.p50 });
  findings.bar(`${name}, p99 ÷ ${peer}`, ratio(0.99), { atMost: limits.p99 });
}

/** The percentile of each round, and the median of these. */
function medianAt(rounds: readonly EmailLatency[], share: number): number {
  return median(rounds.map(({ fromWrite }) => percentile(fromWrite, share)));
}

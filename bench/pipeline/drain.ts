import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../support/load.js';
import {
  BULL_ON_POSTGRES,
  BULL_ON_REDIS,
  fill,
  POSTGRES_PEERS,
  work,
  type BareSender,
} from './bareSenders.js';
import { countStates, writeBacklog } from './backlog.js';
import { makeEmptyDatabase } from './emptyDatabase.js';
import type { Findings } from './findings.js';
import type { Backend, Options } from './options.js';
import { cpuSeconds } from './processFigures.js';
import type { Carrier } from './carrier.js';
import { withSite, type Site } from './site.js';

/** Emails in hand at once, of everybody: what the worker has by default. */
const CONCURRENCY = 64;
/** So long an email too many would have to show. */
const SETTLE_MS = 500;
/** What Rowpost must reach of a worker that does nothing but send. */
const SHARE = 0.35;

/**
 * A backlog that is committed before the processes start, sent by one relay and one worker, against workers of bare
 * queues on the same store whose jobs are there before they start.
 */
export async function drain({ events, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const twin = backend === 'redis' ? BULL_ON_REDIS : BULL_ON_POSTGRES;
      const rowpost = await drainRowpost(site, backend, events, findings);
      const bare = await drainBare(site, twin, events, findings);
      findings.bar(`drain, ${backend}: Rowpost ÷ ${twin.name}`, rowpost / bare, { atLeast: SHARE });
      if (backend === 'redis') return;
      for (const peer of POSTGRES_PEERS) {
        const rate = await drainBare(site, peer, events, findings);
        findings.note(`Rowpost on PostgreSQL ÷ ${peer.name}: ${(rowpost / rate).toFixed(2)}`);
      }
    });
  }
}

async function drainRowpost(
  site: Site,
  backend: Backend,
  events: number,
  findings: Findings,
): Promise<number> {
  const { installation, shop, carrier } = site;
  await writeBacklog(installation, shop, events);
  await carrier.reset();
  const { relay, worker } = await site.startDelivery(backend, { WORKER_CONCURRENCY: String(CONCURRENCY) });
  await carrier.untilAccepted(events);
  const used = await Promise.all([relay, worker].map(({ child }) => cpuSeconds(child.pid ?? 0)));
  await delay(SETTLE_MS);
  const rate = await readRate(carrier, events);
  await Promise.all([relay.kill('SIGTERM'), worker.kill('SIGTERM')]);
  const states = await countStates(installation, shop);
  if (states['sent'] !== events) throw new Error(`the ledger says ${JSON.stringify(states)}`);
  const cpu = used.map((seconds) => ((seconds * 1000) / events).toFixed(3));
  findings.note(
    `Rowpost on ${backend}: ${shown(rate)}; CPU an email: relay ${cpu[0] ?? ''} ms, worker ${cpu[1] ?? ''} ms`,
  );
  return rate.overall;
}

async function drainBare(
  site: Site,
  sender: BareSender,
  events: number,
  findings: Findings,
): Promise<number> {
  const { carrier } = site;
  const store =
    sender.store === 'redis'
      ? `${site.redis.url}/1`
      : await makeEmptyDatabase(site.installation, sender.script);
  const options = { store, carrier: carrier.url, events, concurrency: CONCURRENCY };
  await fill(sender, options);
  await carrier.reset();
  const worker = work(sender, options);
  let used: number;
  try {
    await carrier.untilAccepted(events);
    used = await cpuSeconds(worker.pid);
    await delay(SETTLE_MS);
  } finally {
    await worker.stop();
  }
  const rate = await readRate(carrier, events);
  findings.note(`${sender.name}: ${shown(rate)}; CPU an email: ${((used * 1000) / events).toFixed(3)} ms`);
  return rate.overall;
}

interface Rate {
  /** Emails per second, from the first to the last. */
  readonly overall: number;
  /** Of the whole seconds between, so that a disturbance of a moment does not count. */
  readonly median: number;
}

/** The carrier's own account. Throws when it is not exactly one email an event. */
async function readRate(carrier: Carrier, events: number): Promise<Rate> {
  const { accepted, firstMs, lastMs, perSecond } = await carrier.reset();
  if (accepted !== events) throw new Error(`${accepted} emails for ${events} events`);
  return {
    overall: accepted / (((lastMs ?? 0) - (firstMs ?? 0)) / 1000),
    median: median(perSecond.slice(0, -1)),
  };
}

const shown = (rate: Rate): string =>
  `${rate.overall.toFixed(0)} emails/s, median of seconds ${rate.median.toFixed(0)}`;

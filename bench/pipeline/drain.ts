import { setTimeout as delay } from 'node:timers/promises';
import { median } from '../support/load.js';
import { createTwin, type Twin } from '../twin/twin.js';
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
import { cpuSeconds, postgresCpuSeconds } from './processFigures.js';
import type { Carrier } from './carrier.js';
import { withSite, type Site } from './site.js';

/** Emails in hand at once, of everybody: what the worker has by default. */
const CONCURRENCY = 64;
/** So long an email too many would have to show. */
const SETTLE_MS = 500;
/** What Rowpost must reach of a worker that does nothing but send. */
const SHARE = 0.35;
/** And of the program by hand that keeps the same promises for one rule: of its rate, and in CPU of all processes. */
const TWIN_SHARE = 0.75;
const TWIN_CPU = 1.35;

/**
 * A backlog that is committed before the processes start, sent by one relay and one worker, in turns with the program by
 * hand (bench/twin) and with workers of bare queues on the same store whose jobs are there before they start.
 */
export async function drain({ events, rounds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const bareSender = backend === 'redis' ? BULL_ON_REDIS : BULL_ON_POSTGRES;
      const twin = await createTwin(site, backend, CONCURRENCY);
      const found: Record<'rowpost' | 'twin' | 'bare', Drained[]> = { rowpost: [], twin: [], bare: [] };
      for (let round = 1; round <= rounds; round++) {
        found.rowpost.push(await drainRowpost(site, backend, events, findings));
        found.twin.push(await drainTwin(site, twin, events, findings));
        found.bare.push(await drainBare(site, bareSender, events, findings));
      }
      await twin.stop();
      const ratio = (of: 'rate' | 'cpuMs', to: 'twin' | 'bare'): number =>
        median(found.rowpost.map((each, round) => each[of] / (found[to][round]?.[of] ?? NaN)));
      findings.bar(`drain, ${backend}: Rowpost ÷ ${bareSender.name}`, ratio('rate', 'bare'), {
        atLeast: SHARE,
      });
      findings.bar(`drain, ${backend}: Rowpost ÷ program by hand`, ratio('rate', 'twin'), {
        atLeast: TWIN_SHARE,
      });
      findings.bar(`drain, ${backend}: CPU per email ÷ program by hand`, ratio('cpuMs', 'twin'), {
        atMost: TWIN_CPU,
      });
      if (backend === 'redis') return;
      const rate = median(found.rowpost.map((each) => each.rate));
      for (const peer of POSTGRES_PEERS) {
        const bare = await drainBare(site, peer, events, findings);
        findings.note(`Rowpost on PostgreSQL ÷ ${peer.name}: ${(rate / bare.rate).toFixed(2)}`);
      }
    });
  }
}

interface Drained {
  /** Emails per second, from the first to the last. */
  readonly rate: number;
  /** Of all processes that work for it, PostgreSQL included, per email. */
  readonly cpuMs: number;
}

async function drainRowpost(
  site: Site,
  backend: Backend,
  events: number,
  findings: Findings,
): Promise<Drained> {
  const { installation, shop } = site;
  await writeBacklog(installation, shop, events);
  const before = (await countStates(installation, shop))['sent'] ?? 0;
  const drained = await measureDrain(site, events, `Rowpost on ${backend}`, findings, async () => {
    const { relay, worker } = await site.startDelivery(backend, {
      WORKER_CONCURRENCY: String(CONCURRENCY),
    });
    return {
      pids: { relay: relay.child.pid ?? 0, worker: worker.child.pid ?? 0 },
      stop: () => Promise.all([relay.kill('SIGTERM'), worker.kill('SIGTERM')]),
    };
  });
  const states = await countStates(installation, shop);
  if (states['sent'] !== before + events) throw new Error(`the ledger says ${JSON.stringify(states)}`);
  return drained;
}

async function drainTwin(site: Site, twin: Twin, events: number, findings: Findings): Promise<Drained> {
  await twin.writeBacklog(events);
  const drained = await measureDrain(site, events, 'the program by hand', findings, async () => {
    const worker = await twin.start('worker');
    const relay = await twin.start('relay');
    return {
      pids: { relay: relay.pid, worker: worker.pid },
      stop: () => Promise.all([relay.stop(), worker.stop()]),
    };
  });
  const [open] = await twin.query<{ n: number }>(`select count(*)::int as n from outbox o
    where not exists (select from delivery d join attempt_end e on e.delivery = d.id where d.event = o.id and outcome = 'sent')`);
  if (open?.n !== 0) throw new Error(`the program by hand has ${String(open?.n)} events without an email`);
  return drained;
}

async function drainBare(
  site: Site,
  sender: BareSender,
  events: number,
  findings: Findings,
): Promise<Drained> {
  const store =
    sender.store === 'redis'
      ? `${site.redis.url}/1`
      : await makeEmptyDatabase(site.installation, sender.script);
  const options = { store, carrier: site.carrier.url, events, concurrency: CONCURRENCY };
  await fill(sender, options);
  return measureDrain(site, events, sender.name, findings, () => {
    const worker = work(sender, options);
    return Promise.resolve({ pids: { worker: worker.pid }, stop: () => worker.stop() });
  });
}

/** The carrier's own account. Throws when it is not exactly one email an event. */
async function measureDrain(
  { carrier, redis, installation }: Site,
  events: number,
  name: string,
  findings: Findings,
  start: () => Promise<{ readonly pids: Readonly<Record<string, number>>; stop(): Promise<unknown> }>,
): Promise<Drained> {
  await carrier.reset();
  const shared = async () => ({
    Redis: await cpuSeconds(redis.pid),
    PostgreSQL: await postgresCpuSeconds(installation.databaseUrl),
  });
  const before = await shared();
  const running = await start();
  const used: Record<string, number> = {};
  try {
    await carrier.untilAccepted(events);
    for (const [part, pid] of Object.entries(running.pids)) used[part] = await cpuSeconds(pid);
    const after = await shared();
    used['Redis'] = after.Redis - before.Redis;
    used['PostgreSQL'] = after.PostgreSQL - before.PostgreSQL;
    await delay(SETTLE_MS);
  } finally {
    await running.stop();
  }
  const { rate, medianOfSeconds } = await readRate(carrier, events);
  const cpu = Object.entries(used).map(([part, seconds]) => [part, (seconds * 1000) / events] as const);
  findings.note(
    `${name}: ${rate.toFixed(0)} emails/s, median of seconds ${medianOfSeconds.toFixed(0)}; CPU per email: ` +
      cpu.map(([part, ms]) => `${part} ${ms.toFixed(3)} ms`).join(', '),
  );
  return { rate, cpuMs: cpu.reduce((sum, [, ms]) => sum + ms, 0) };
}

async function readRate(
  carrier: Carrier,
  events: number,
): Promise<{ readonly rate: number; readonly medianOfSeconds: number }> {
  const { accepted, firstMs, lastMs, perSecond } = await carrier.reset();
  if (accepted !== events) throw new Error(`${accepted} emails for ${events} events`);
  return {
    rate: accepted / (((lastMs ?? 0) - (firstMs ?? 0)) / 1000),
    // Of the whole seconds, so that a disturbance of a moment does not count.
    medianOfSeconds: median(perSecond.slice(0, -1)),
  };
}

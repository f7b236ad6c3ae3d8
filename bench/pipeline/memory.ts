import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { slope } from './numbers.js';
import type { Options } from './options.js';
import { runPaced } from './pacedLoad.js';
import { residentMiB } from './processFigures.js';
import { withSite, type Running } from './site.js';

const CONNECTIONS = 32;
const PER_SECOND = 200;
const SAMPLE_MS = 10_000;
/** Of the run, while caches fill. */
const WARM_UP_SHARE = 1 / 3;
/** What may be noise of the allocator. */
const FLAT_MIB_AN_HOUR = 30;

export interface Sample {
  readonly minute: number;
  readonly mib: Readonly<Record<string, number>>;
}

/** Whether web, relay and worker keep their size over a long run at a steady rate. */
export async function memory({ minutes, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis'] as const)) {
    await withSite(async (site) => {
      const { shop, carrier } = site;
      const running = await site.startAll(backend);
      const mutator = mutateRowpost(running.baseUrl, shop, CONNECTIONS);
      const over = new AbortController();
      const sampling = sampleMemory(pidsOf(running), over.signal, () => carrier.reset(), findings);
      const { failed, answeredMs } = await runPaced(mutator, {
        perSecond: PER_SECOND,
        seconds: minutes * 60,
      });
      over.abort();
      const samples = await sampling;
      mutator.close();
      findings.note(`${answeredMs.size} mutations, ${failed} failed`);
      assessGrowth(`memory, ${backend}`, samples, findings);
    });
  }
}

/** Process ids by name. */
export type Pids = Readonly<Record<string, number | undefined>>;

export function pidsOf({ web, relay, worker }: Running): Pids {
  return { web: web.child.pid, relay: relay.child.pid, worker: worker.child.pid };
}

export async function readMemory(pids: Pids): Promise<Readonly<Record<string, number>>> {
  const mib: Record<string, number> = {};
  for (const [name, pid] of Object.entries(pids)) mib[name] = await residentMiB(pid ?? 0);
  return mib;
}

export function describeMemory(mib: Sample['mib']): string {
  const shown = Object.entries(mib).map(([name, size]) => `${name} ${size.toFixed(0)}`);
  return `${shown.join(', ')} MiB`;
}

export function assessGrowth(title: string, samples: readonly Sample[], findings: Findings): void {
  const last = samples.at(-1);
  if (!last) return;
  const warm = samples.filter(({ minute }) => minute >= last.minute * WARM_UP_SHARE);
  for (const name of Object.keys(last.mib)) {
    const growth = 60 * slope(warm.map(({ minute, mib }) => ({ x: minute, y: mib[name] ?? 0 })));
    findings.bar(`${title}: growth of ${name}`, growth, { atMost: FLAT_MIB_AN_HOUR, unit: 'MiB/h' });
  }
}

async function sampleMemory(
  pids: Pids,
  signal: AbortSignal,
  everySample: () => Promise<unknown>,
  findings: Findings,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const begun = performance.now();
  try {
    for (;;) {
      await delay(SAMPLE_MS, undefined, { signal });
      // The carrier's list of receipts must not grow without end.
      await everySample();
      const mib = await readMemory(pids);
      const minute = (performance.now() - begun) / 60_000;
      samples.push({ minute, mib });
      findings.note(`minute ${minute.toFixed(1)}: ${describeMemory(mib)}`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return samples;
}

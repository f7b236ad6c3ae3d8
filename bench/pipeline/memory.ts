import { setTimeout as delay } from 'node:timers/promises';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { slope } from './numbers.js';
import type { Options } from './options.js';
import { runPaced } from './pacedLoad.js';
import { residentMiB } from './processFigures.js';
import { withSite } from './site.js';

const CONNECTIONS = 32;
const PER_SECOND = 200;
const SAMPLE_MS = 10_000;
/** Of the run, while caches fill. */
const WARM_UP_SHARE = 1 / 3;
/** What may be noise of the allocator. */
const FLAT_MIB_AN_HOUR = 30;

interface Sample {
  readonly minute: number;
  readonly mib: Readonly<Record<string, number>>;
}

/** Whether web, relay and worker keep their size over a long run at a steady rate. */
export async function memory({ minutes, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis'] as const)) {
    await withSite(async (site) => {
      const { shop, provider } = site;
      const { web, relay, worker, baseUrl } = await site.startAll(backend);
      const pids = { web: web.child.pid, relay: relay.child.pid, worker: worker.child.pid };
      const mutator = mutateRowpost(baseUrl, shop, CONNECTIONS);
      const over = new AbortController();
      const sampling = sampleMemory(pids, over.signal, () => provider.reset(), findings);
      const { failed, answeredMs } = await runPaced(mutator, {
        perSecond: PER_SECOND,
        seconds: minutes * 60,
      });
      over.abort();
      const samples = await sampling;
      mutator.close();
      findings.note(`${answeredMs.size} mutations, ${failed} failed`);
      const warm = samples.filter(({ minute }) => minute >= minutes * WARM_UP_SHARE);
      for (const name of Object.keys(pids)) {
        const growth = 60 * slope(warm.map(({ minute, mib }) => ({ x: minute, y: mib[name] ?? 0 })));
        findings.bar(`memory, ${backend}: growth of ${name}`, growth, {
          atMost: FLAT_MIB_AN_HOUR,
          unit: 'MiB/h',
        });
      }
    });
  }
}

async function sampleMemory(
  pids: Readonly<Record<string, number | undefined>>,
  signal: AbortSignal,
  everySample: () => Promise<unknown>,
  findings: Findings,
): Promise<readonly Sample[]> {
  const samples: Sample[] = [];
  const begun = performance.now();
  try {
    for (;;) {
      await delay(SAMPLE_MS, undefined, { signal });
      // The provider's list of receipts must not grow without end.
      await everySample();
      const mib: Record<string, number> = {};
      for (const [name, pid] of Object.entries(pids)) mib[name] = await residentMiB(pid ?? 0);
      const minute = (performance.now() - begun) / 60_000;
      samples.push({ minute, mib });
      const shown = Object.entries(mib).map(([name, size]) => `${name} ${size.toFixed(0)}`);
      findings.note(`minute ${minute.toFixed(1)}: ${shown.join(', ')} MiB`);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
  return samples;
}

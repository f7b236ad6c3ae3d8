import { runClosedLoad } from './closedLoad.js';
import { describeLatency, measureLatency } from './emailLatency.js';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { percentile } from './numbers.js';
import type { Options } from './options.js';
import { withSite } from './site.js';

const CONNECTIONS = 32;
/**
 * Until V8 has compiled what runs often: services run for days, and before that a mail takes up to twice as long. As fast
 * as the machine sends, so that none is overrun.
 */
const WARM_UP = { connections: 8, warmUpSeconds: 0, seconds: 30, maxBehind: 200 };
const P50_MS = 10;
const P99_MS = 50;

/** From the commit to the provider, at a steady rate through one web, one relay and one worker. */
export async function latency({ seconds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis', 'postgres'] as const)) {
    await withSite(async (site) => {
      const { shop, provider } = site;
      const { baseUrl } = await site.startAll(backend);
      const mutator = mutateRowpost(baseUrl, shop, CONNECTIONS);
      await runClosedLoad(mutator, provider, WARM_UP);
      for (const perSecond of [10, 200]) {
        const measured = await measureLatency(mutator, provider, { perSecond, seconds });
        findings.note(`${backend}, ${perSecond}/s: ${describeLatency(measured)}`);
        const at = (share: number): number => percentile(measured.fromWrite, share);
        const name = `commit → accepted, ${backend}, ${perSecond}/s`;
        findings.bar(`${name}, p50`, at(0.5), { atMost: P50_MS, unit: 'ms' });
        findings.bar(`${name}, p99`, at(0.99), { atMost: P99_MS, unit: 'ms' });
      }
      mutator.close();
    });
  }
}

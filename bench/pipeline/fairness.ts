import type { BenchInstallation } from '../support/installation.js';
import { countStates, writeBacklog } from './backlog.js';
import { describeLatency, measureLatency } from './emailLatency.js';
import type { EmailShop } from './emailShop.js';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { percentile } from './numbers.js';
import type { Options } from './options.js';
import { withSite } from './site.js';

const CONNECTIONS = 16;
const WARM_UP = { perSecond: 100, seconds: 8 };
const PER_SECOND = 20;
/** The tenant with the backlog has so many times the events of the other parts' backlogs. */
const BACKLOGS = 2;
/** So much longer than unloaded the other tenant's emails may take. */
const TIMES = 2;

/** How long one tenant's emails take while another's backlog is drained, against how long they take alone. */
export async function fairness({ events, seconds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis'] as const)) {
    await withSite(async (site) => {
      const { installation, shop, carrier } = site;
      const busy = await site.addShop();
      const { baseUrl } = await site.startAll(backend);
      const mutator = mutateRowpost(baseUrl, shop, CONNECTIONS);
      await measureLatency(mutator, carrier, WARM_UP);
      const pace = { perSecond: PER_SECOND, seconds };
      const alone = await measureLatency(mutator, carrier, pace);
      findings.note(`${backend}, alone: ${describeLatency(alone)}`);

      const backlog = events * BACKLOGS;
      await writeBacklog(installation, busy, backlog);
      const before = await countSent(installation, busy);
      const begun = performance.now();
      const beside = await measureLatency(mutator, carrier, pace);
      const took = (performance.now() - begun) / 1000;
      const after = await countSent(installation, busy);
      if (after >= backlog) findings.note('the backlog was drained before the end: use --events');
      findings.note(`${backend}, beside a backlog of ${backlog}: ${describeLatency(beside)}`);
      findings.note(
        `the backlog meanwhile: ${((after - before) / took).toFixed(0)} emails/s, ${backlog - after} left`,
      );
      for (const share of [0.5, 0.99]) {
        const ratio = percentile(beside.fromWrite, share) / percentile(alone.fromWrite, share);
        findings.bar(`fairness, ${backend}: p${share * 100} beside a backlog ÷ alone`, ratio, {
          atMost: TIMES,
        });
      }
      mutator.close();
    });
  }
}

async function countSent(installation: BenchInstallation, shop: EmailShop): Promise<number> {
  return (await countStates(installation, shop))['sent'] ?? 0;
}

import { countStates, writeBacklog } from './backlog.js';
import { describeLatency, measureLatency } from './emailLatency.js';
import { LARGE_TEMPLATE } from './emailShop.js';
import type { Findings } from './findings.js';
import { mutateRowpost } from './mutations.js';
import { percentile } from './numbers.js';
import type { Options } from './options.js';
import { withSite } from './site.js';

const CONNECTIONS = 16;
const WARM_UP = { perSecond: 50, seconds: 6 };
const PER_SECOND = 20;
const SLOW_EVENTS = 200;
/** Just within the steps that a template may take. */
const SLOW_TEMPLATE =
  '{% for i in range(600) %}{% for j in range(1000) %}{{ i }}{% endfor %}{% endfor %}{{ found[0].order_id }}';
/** So much longer than unloaded the other tenant's emails may take. */
const TIMES = 2;

/** How long one tenant's emails take beside 200 events of another's on a slow template, against how long they take alone. */
export async function slowTemplates({ seconds, backends }: Options, findings: Findings): Promise<void> {
  for (const backend of backends ?? (['redis'] as const)) {
    await withSite(async (site) => {
      const { installation, carrier } = site;
      const hostile = await site.addShop(SLOW_TEMPLATE);
      // It needs one of the render processes that the slow ones are in.
      const other = await site.addShop(LARGE_TEMPLATE);
      const { baseUrl } = await site.startAll(backend);
      const mutator = mutateRowpost(baseUrl, other, CONNECTIONS);
      await measureLatency(mutator, carrier, WARM_UP);
      const pace = { perSecond: PER_SECOND, seconds };
      const alone = await measureLatency(mutator, carrier, pace);
      findings.note(`${backend}, alone: ${describeLatency(alone)}`);

      await writeBacklog(installation, hostile, SLOW_EVENTS);
      const beside = await measureLatency(mutator, carrier, pace);
      const { sent = 0, failed = 0 } = await countStates(installation, hostile);
      if (sent + failed >= SLOW_EVENTS) findings.note('the slow ones had ended before: use fewer --seconds');
      findings.note(
        `${backend}, beside ${SLOW_EVENTS} slow ones, ${sent} sent, ${failed} failed: ${describeLatency(beside)}`,
      );
      for (const share of [0.5, 0.95]) {
        const ratio = percentile(beside.fromWrite, share) / percentile(alone.fromWrite, share);
        findings.bar(`slow templates, ${backend}: p${share * 100} beside ÷ alone`, ratio, { atMost: TIMES });
      }
      mutator.close();
    });
  }
}

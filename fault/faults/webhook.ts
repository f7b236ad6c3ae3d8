import { setTimeout as delay } from 'node:timers/promises';
import type { Rig } from '../rig/rig.js';
import type { OpenShop } from '../rig/shop.js';
import { Reports } from './reports.js';
import type { TenantFault } from './tenantFault.js';

const NAME = 'event webhook';
/** In chronological order; reports arrive in any order. */
const LIFE = ['deferred', 'delivered', 'open', 'click'] as const;
const PAUSE_MS = 20;
/** Fewer events would prove nothing. */
const MIN_EVENTS = 50;
/** Maximum time for reporting. */
const MAX_MS = 90_000;

/**
 * The carrier reports on one shop's emails: each event twice, in random order, with forged reports in between, while
 * a web process is killed and PostgreSQL is restarted. Then it reports a bounce, and the shop places another order.
 */
export const eventWebhook: TenantFault = {
  name: NAME,
  what: 'reports repeated, disordered and forged; web killed, PostgreSQL restarted; then a bounce',
  special: { mayFailWith: ['SUPPRESSED'] },
  async begin(rig, shop) {
    const reports = new Reports(rig, shop);
    await reports.setKey();
    const stop = new AbortController();
    under.set(shop, { reports, stop, reporting: reportAndDisturb(rig, shop, reports, stop.signal) });
  },
  async end(rig, shop) {
    const running = under.get(shop);
    if (!running) throw new Error('it has not begun');
    running.stop.abort();
    await running.reporting;
    await bounce(rig, shop, running.reports);
    rig.complaints.push(...(await check(rig, shop, running.reports)));
  },
};

interface Running {
  readonly reports: Reports;
  readonly stop: AbortController;
  readonly reporting: Promise<unknown>;
}

const under = new WeakMap<OpenShop, Running>();

/** Keeps reporting until the fault is over and all process faults are done. */
async function reportAndDisturb(
  rig: Rig,
  shop: OpenShop,
  reports: Reports,
  stopped: AbortSignal,
): Promise<void> {
  let isDisturbed = false;
  const until = Date.now() + MAX_MS;
  const isOver = (): boolean =>
    (stopped.aborted && isDisturbed && reports.taken.size >= MIN_EVENTS) || Date.now() > until;
  await Promise.all([
    reportUntil(rig, shop, reports, isOver),
    disturb(rig, reports).then(() => (isDisturbed = true)),
  ]);
}

/** Each round reports on all of the shop's emails so far, with new events. */
async function reportUntil(rig: Rig, shop: OpenShop, reports: Reports, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const emails = await emailsOf(rig, shop);
    const events = emails.flatMap((id) => LIFE.map((event) => reports.event(event, id)));
    const forged = emails.slice(0, 1).map((id) => reports.event('bounce', id, { type: 'bounce' }));
    if (events.length > 0) {
      const reversed = [...events].reverse();
      const halves = [reversed.slice(0, events.length / 2), reversed.slice(events.length / 2)];
      // Sends the same events concurrently, in one report and in two.
      await Promise.all(
        [...halves, events].map((report) => reports.deliver(report)).concat(reports.forge(forged)),
      );
    }
    await delay(PAUSE_MS);
  }
}

async function disturb(rig: Rig, reports: Reports): Promise<void> {
  const { fleet, spans, strikes } = rig;
  for (const until = Date.now() + MAX_MS / 2; reports.taken.size === 0 && Date.now() < until;)
    await delay(100);
  const strength = fleet.webs.length;
  const web = await fleet.take('web');
  strikes.push({ window: NAME, member: web.name, atMs: Date.now() });
  await fleet.kill(web);
  // A process started while PostgreSQL is down exits and is restarted by its supervisor: not what is tested here.
  while (fleet.webs.length < strength) await delay(100);
  const fromMs = Date.now();
  await rig.restartPostgres();
  spans.push({ fault: NAME, fromMs, toMs: Date.now(), losesResponses: true });
}

/** Deliveries of the shop that the carrier has accepted. */
async function emailsOf({ carrier }: Rig, { tenantid }: OpenShop): Promise<readonly string[]> {
  await carrier.refresh();
  const emails = carrier.entries.filter((entry) => entry.accepted && entry.tenantid === String(tenantid));
  return [...new Set(emails.map(({ deliveryid }) => deliveryid))];
}

const SKIPPED_MS = 20_000;

/** Makes the address bounce: later orders must be skipped, with that reason. */
async function bounce(rig: Rig, shop: OpenShop, reports: Reports): Promise<void> {
  const [deliveryid] = await emailsOf(rig, shop);
  if (deliveryid === undefined) throw new Error('the shop has sent nothing');
  await reports.deliver([reports.event('bounce', deliveryid, { type: 'bounce', reason: '550 unknown' })]);
  const order = rig.load.placeOrder(shop);
  const until = Date.now() + SKIPPED_MS;
  for (;;) {
    const [row] = await rig.ledger.query<{ state: string; code: string | null }>(
      `select state, error_code as code from rowpost.email_delivery where ruleid = $1 and (key ->> 'order_id')::int = $2`,
      [shop.confirmRuleid, order.orderId],
    );
    if (row?.state === 'skipped' && row.code === 'SUPPRESSED') return;
    if ((row && row.state !== 'pending') || Date.now() > until) {
      const seen = row ? `${row.state} (${row.code ?? 'no error'})` : 'not recorded';
      rig.complaints.push(`${NAME}: ${order.mark} after a bounce is ${seen}, not skipped`);
      return;
    }
    await delay(100);
  }
}

async function check(rig: Rig, shop: OpenShop, reports: Reports): Promise<readonly string[]> {
  const rows = await rig.ledger.query<{ id: string; count: number }>(
    `select provider_event_id as id, count(*)::int as count from rowpost.email_event where tenantid = $1 group by 1`,
    [shop.tenantid],
  );
  const counts = new Map(rows.map(({ id, count }) => [id, count]));
  const lost = [...reports.taken].filter((id) => !counts.has(id));
  const twice = rows.filter(({ count }) => count > 1);
  const strange = rows.filter(({ id }) => reports.forged.has(id) || !reports.taken.has(id));
  const said = (what: string, ids: readonly unknown[]): string[] =>
    ids.length === 0 ? [] : [`${NAME}: ${ids.length} ${what}`];
  return [
    ...reports.mistakes,
    ...said('events answered 2xx are lost', lost),
    ...said('events are counted twice', twice),
    ...said('events are recorded that were refused', strange),
    ...(reports.taken.size < MIN_EVENTS ? [`${NAME}: only ${reports.taken.size} events were reported`] : []),
    ...(reports.repeatedAfterFailure === 0
      ? [`${NAME}: no report met a process or a database that was away`]
      : []),
  ];
}

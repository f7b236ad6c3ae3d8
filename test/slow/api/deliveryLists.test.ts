import { expect } from 'chai';
import pg from 'pg';
import type { Transactions, TransactionStatement } from '../../../src/db/pool/transactions.js';
import type { ConsoleBrowser } from '../../api/consoleBrowser.js';
import { ConsoleShop } from '../../api/consoleShop.js';

const DELIVERIES = 50_000;
const DAYS = 4;
/** What a page may read of the ledger: 2,000 deliveries with all that is known of each, and no more of a larger ledger. */
const MAX_ROWS = 30_000;

/** Values of the fields of the search: some that most deliveries match, few, and none. */
const FIELDS: Readonly<Record<string, readonly string[]>> = {
  status: ['bounced', 'delivered,opened', 'unsubscribed', 'failed', 'sent'],
  to: ['ada4000@example.com', 'da400'],
  person: ['archive@example.com'],
  subject: ['Order 12'],
  state: ['retrying'],
  code: ['SUPPRESSED', 'NOTHING'],
  type: ['confirmation', 'rare'],
  rule: ['4711'],
  table: ['rare'],
  key: ['77'],
  event: ['open', 'spamreport'],
  within: ['hour', 'all'],
  until: ['YESTERDAY'],
};

/** Each value alone, and each pair of values of different fields. */
const SEARCHES: readonly (readonly (readonly [string, string])[])[] = (() => {
  const all = Object.entries(FIELDS).flatMap(([name, values]) =>
    values.map((value) => [name, value] as const),
  );
  const pairs = all.flatMap((one, index) =>
    all.slice(index + 1).flatMap((other) => (other[0] === one[0] ? [] : [[one, other]])),
  );
  return [[], ...all.map((one) => [one]), ...pairs];
})();

/** The lists must read as much of a ledger of any size. */
describe('lists of deliveries read a bounded part of the ledger', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let explaining: pg.Client;
  let ledger: readonly Delivery[];
  const sent: TransactionStatement[] = [];

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    const { database, url } = shop.fixture.testDatabase;
    explaining = new pg.Client({ connectionString: url });
    await explaining.connect();
    await explaining.query('set statement_timeout = 0');
    await explaining.query(partitions());
    await explaining.query(history(shop.tenantid, shop.ruleid));
    await explaining.query('vacuum analyze');
    await shop.count();
    const { rows } = await explaining.query<Delivery>(
      `select deliveryid::text as id, status, state, coalesce(error_code, '') as code, email_type as type, target as table,
         extract(epoch from createtime) * 1000 as ms, coalesce(subject, '') as subject, intended_recipients as recipients,
         (select array_agg(event) from rowpost.email_event e where e.deliveryid = d.deliveryid) as events, key::text as key
       from rowpost.email_delivery d where tenantid = $1 order by deliveryid desc`,
      [shop.tenantid],
    );
    ledger = rows;
    const transactions = database.transactions as { run: Transactions['run'] };
    const run = transactions.run.bind(database.transactions);
    transactions.run = (request) => {
      sent.push(...request.statements);
      return run(request);
    };
  });
  after(async () => {
    await explaining.end();
    await shop.close();
  });

  it('whatever they are searched for', async () => {
    expect(ledger).to.have.length(DELIVERIES);
    const yesterday = new Date(Date.now() - 24 * 3_600_000).toISOString().slice(0, 16);
    for (const fields of SEARCHES) {
      const search = fields.map(
        ([name, value]) => [name, value === 'YESTERDAY' ? yesterday : value] as const,
      );
      const path = `/console/deliveries?${new URLSearchParams(Object.fromEntries(search)).toString()}`;
      sent.length = 0;
      const html = await browser.page(path);
      const shown = [...html.matchAll(/class="main"><a href="\/console\/deliveries\/(\d+)"/g)].map(
        ([, id]) => id,
      );
      const matching = ledger.filter(matches(search));
      // A search that was cut shows what it found.
      const isCut = html.includes('Searched the newest');
      const expected = matching.slice(0, isCut ? shown.length : 50).map(({ id }) => id);
      expect(shown, path).to.deep.equal(expected);
      if (isCut) expect(shown.length, path).to.be.lessThan(51);
      let read = 0;
      for (const statement of sent) read += await rowsRead(statement);
      expect(read, path).to.be.within(shown.length, MAX_ROWS);
    }
  });

  it('and the pages of people and of causes, whose counts are those of the ledger', async () => {
    for (const path of [
      'failures',
      'failures?within=all',
      'person?address=ada4000@example.com',
      'person?address=archive@example.com',
      'person?address=ada40',
      'person?address=nobody@example.com',
    ]) {
      sent.length = 0;
      await browser.page(`/console/${path}`);
      let read = 0;
      for (const statement of sent) read += await rowsRead(statement);
      expect(read, path).to.be.lessThan(MAX_ROWS);
    }
    // Older than what a search looks for parts in.
    expect(await browser.page('/console/person?address=ada4000')).to.include('ada40000@example.com');
    for (const [within, days] of [
      ['day', 1],
      ['week', 7],
      ['all', 99],
    ] as const) {
      const hour = Math.floor((Date.now() - days * 24 * 3_600_000) / 3_600_000) * 3_600_000;
      const html = await browser.page(`/console/deliveries?within=${within}`);
      for (const status of ['bounced', 'complained', 'held_back', 'failed']) {
        const count = ledger.filter((each) => each.status === status && each.ms >= hour).length;
        expect(html).to.match(
          new RegExp(`<span class="state ${status}">[^<]+</span> <strong>${count}</strong>`),
        );
      }
    }
  });

  /** Of all tables and indexes: what a plan's scans returned, and what they read and left out. */
  async function rowsRead({ statement: { text }, values }: TransactionStatement): Promise<number> {
    if (!/^\s*(select|with)\b/i.test(text) || text.includes('set_config')) return 0;
    const texts: string[] = [];
    for (const value of values) {
      // pg writes an array as PostgreSQL reads it.
      const { rows } = await explaining.query<{ text: string | null }>('select $1::text as text', [value]);
      texts.push(rows[0]!.text === null ? 'null' : explaining.escapeLiteral(rows[0]!.text));
    }
    // As when it ran: a list is compiled for each request, so it is planned for its values.
    await explaining.query('set plan_cache_mode = force_custom_plan');
    await explaining.query(`prepare explained as ${text}`);
    const { rows } = await explaining.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(
      `explain (analyze, timing off, format json) execute explained${texts.length === 0 ? '' : `(${texts.join(', ')})`}`,
    );
    await explaining.query('deallocate explained');
    return readBy(rows[0]!['QUERY PLAN'][0].Plan);
  }
});

interface Delivery {
  readonly id: string;
  readonly status: string;
  readonly state: string;
  readonly code: string;
  readonly type: string;
  readonly table: string;
  readonly ms: number;
  readonly subject: string;
  readonly recipients: readonly string[];
  readonly events: readonly string[] | null;
  readonly key: string;
}

/** What a search means, said once more. */
function matches(search: readonly (readonly [string, string])[]): (delivery: Delivery) => boolean {
  const values = new Map(search);
  const hourMs = 3_600_000;
  const hours = { hour: 1, day: 24, week: 168, all: Infinity }[values.get('within') ?? 'week']!;
  const until = values.get('until');
  const since = until === undefined ? Math.floor(Date.now() / hourMs - hours) * hourMs : -Infinity;
  const before = until === undefined ? Infinity : Math.ceil(Date.parse(`${until}Z`) / hourMs) * hourMs;
  const addressesOf = ({ recipients }: Delivery): readonly string[] =>
    recipients.map((text) => (/<(.*)>$/.exec(text)?.[1] ?? text).toLowerCase());
  const tests: Readonly<Record<string, (delivery: Delivery, value: string) => boolean>> = {
    status: ({ status }, value) => value.split(',').includes(status),
    to: (delivery, value) =>
      value.includes('@')
        ? addressesOf(delivery).includes(value)
        : delivery.recipients.some((each) => each.toLowerCase().includes(value)),
    person: (delivery, value) => addressesOf(delivery).includes(value),
    subject: ({ subject }, value) => subject.includes(value),
    state: ({ state }, value) => state === value,
    code: ({ code }, value) => code === value,
    type: ({ type }, value) => type === value,
    rule: () => false,
    table: ({ table }, value) => table === value,
    key: ({ key }, value) => (JSON.parse(key) as { order_id: number }).order_id === Number(value),
    event: ({ events }, value) => events?.includes(value) ?? false,
    within: () => true,
    until: () => true,
  };
  return (delivery) =>
    delivery.ms >= since &&
    delivery.ms < before &&
    search.every(([name, value]) => tests[name]!(delivery, value));
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly Plans?: readonly PlanNode[];
}

function readBy(node: PlanNode): number {
  const below = (node.Plans ?? []).reduce((sum, each) => sum + readBy(each), 0);
  if (!/ Scan$/.test(node['Node Type']) || /^(CTE|Subquery|Function|Values) /.test(node['Node Type']))
    return below;
  const removed = (node['Rows Removed by Filter'] ?? 0) + (node['Rows Removed by Index Recheck'] ?? 0);
  return below + (node['Actual Rows'] + removed) * node['Actual Loops'];
}

function partitions(): string {
  return `do $$ begin
    for day in 0..${DAYS} loop
      for i in 1..5 loop
        execute format('create table if not exists rowpost.%I partition of rowpost.%I for values from (%L) to (%L)',
          (array['delivery', 'delivery_start', 'email_attempt', 'email_event', 'email_recipient'])[i] || to_char((now() at time zone 'UTC')::date - day, '"_"YYYYMMDD'),
          (array['delivery', 'delivery_start', 'email_attempt', 'email_event', 'email_recipient'])[i],
          ((now() at time zone 'UTC')::date - day) || ' 00:00:00+00', ((now() at time zone 'UTC')::date - day + 1) || ' 00:00:00+00');
      end loop;
    end loop;
  end $$`;
}

/** Of each 1,000, 985 are sent at the first attempt; 1 in 50 of them bounced, and each has a copy for the archive. */
function history(tenantid: number, ruleid: string): string {
  return `
  create temporary table history as
    select i, (extract(epoch from at) * 1000 - 1600000000000)::bigint * 4096 + (i & 4095) as deliveryid, at,
      i % 1000 < 15 as is_trouble,
      array[initcap((array['ada', 'bob', 'eve', 'joe'])[i % 4 + 1]) || ' <' || (array['Ada', 'bob', 'eve', 'joe'])[i % 4 + 1] || i || '@example.com>', 'archive@example.com'] as recipients
    from (select i, now() - interval '1 minute' - interval '${DAYS} days' * i / ${DELIVERIES + 1} as at
      from generate_series(1, ${DELIVERIES}) i) times;
  insert into rowpost.delivery (tenantid, deliveryid, eventid, ruleid, email_type, operation, target, key, delivery, state,
      attempts, recipients, subject, error_code, error, createtime, starts, tracked)
    select ${tenantid}, deliveryid, i, ${ruleid}, case when i % 9000 = 4000 then 'rare' else 'confirmation' end, 'insert',
      case when i % 8000 = 77 then 'rare' else 'orders' end, json_build_object('order_id', i), 'at_least_once',
      case when is_trouble then (array['failed', 'skipped', 'retrying'])[i % 3 + 1] else 'pending' end, is_trouble::int,
      case when is_trouble then recipients end, case when is_trouble then 'Order ' || i end,
      case when is_trouble then (array['TEMPLATE_FAILED', 'SUPPRESSED', 'CARRIER_UNAVAILABLE'])[i % 3 + 1] end,
      case when is_trouble then 'why' end, at, is_trouble::int, is_trouble
    from history;
  insert into rowpost.delivery_start (tenantid, deliveryid, started, leased_until, recipients, subject, createtime, carrier)
    select ${tenantid}, deliveryid, at, at + interval '6 s', recipients, 'Order ' || i, at, 'sendgrid'
    from history where not is_trouble;
  insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, http_status, createtime, carrier)
    select ${tenantid}, deliveryid, 1, at, at + interval '50 ms', case when is_trouble then 'failed' else 'sent' end, 202, at, 'sendgrid'
    from history;
  insert into rowpost.email_event (tenantid, deliveryid, provider_event_id, event, time, recipient, createtime)
    select ${tenantid}, deliveryid, kind, kind, at + interval '2 s', recipients[1], at
    from history, lateral unnest(case when i % 50 = 7 then '{bounce}'::text[] when i % 5000 = 20 then '{delivered,spamreport}'
      when i % 9000 = 100 then '{delivered,open,unsubscribe}' when i % 20 = 3 then '{delivered,open}' when i % 100 = 5 then '{}'
      else '{delivered}' end) kind
    where not is_trouble;
  drop table history`;
}

// The console beside 200 emails a second: each page of a tenant with a million deliveries, and of one with 5,000 email types.
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { runClosedLoad } from '../pipeline/closedLoad.js';
import { describeLatency, measureLatency } from '../pipeline/emailLatency.js';
import { mutateRowpost } from '../pipeline/mutations.js';
import { percentile } from '../pipeline/numbers.js';
import { withSite } from '../pipeline/site.js';
import { describeMachine } from '../support/report.js';

const DELIVERIES = Number(process.argv[2] ?? 1_000_000);
const SECONDS = Number(process.argv[3] ?? 120);
const EMAIL_TYPES = 5_000;
const PEOPLE_COUNT = 500;
const DAYS = 7;
const EMAILS_PER_SECOND = 200;
const CONNECTIONS = 32;
const PASSWORD = 'benchmark-root';
/** Between two pages of the one person who looks at them. */
const THINK_MS = 1_000;
const WARM_UP = { connections: 8, warmUpSeconds: 0, seconds: 20, maxBehind: 200 };

/**
 * A week of deliveries as they are recorded: 995 of 1,000 sent at the first attempt, the others failed or skipped. Of those sent, 1 in
 * 50 bounced.
 */
const HISTORY = `
  do $$ begin
    for day in 1..${DAYS} loop
      for i in 1..5 loop
        execute format('create table rowpost.%s partition of rowpost.%s for values from (%L) to (%L)',
          (array['delivery', 'delivery_start', 'email_attempt', 'email_event', 'email_recipient'])[i] || to_char(current_date - day, '"_"YYYYMMDD'),
          (array['delivery', 'delivery_start', 'email_attempt', 'email_event', 'email_recipient'])[i],
          (current_date - day) || ' 00:00:00+00', (current_date - day + 1) || ' 00:00:00+00');
      end loop;
    end loop;
  end $$;
  create temporary table history as
    select i, (extract(epoch from at) * 1000 - 1600000000000)::bigint * 4096 + (i & 4095) as deliveryid, at,
      i % 1000 < 5 as is_trouble, (array['ada', 'bob', 'eve', 'joe'])[i % 4 + 1] || i || '@example.com' as recipient
    from (select i, current_date::timestamptz - interval '${DAYS} days' * i / ${DELIVERIES + 1} as at
      from generate_series(1, ${DELIVERIES}) i) times;
  insert into rowpost.delivery (tenantid, deliveryid, eventid, ruleid, email_type, operation, target, key, delivery, state,
      attempts, recipients, subject, error_code, error, createtime, starts, tracked)
    select $TENANT, deliveryid, i, $RULE, 'confirmation', 'insert', 'item', json_build_object('item_id', i), 'at_least_once',
      case when is_trouble then (array['failed', 'skipped'])[i % 2 + 1] else 'pending' end, is_trouble::int,
      case when is_trouble then array[recipient] end, case when is_trouble then 'Order ' || i end,
      case when is_trouble then (array['TEMPLATE_FAILED', 'SUPPRESSED'])[i % 2 + 1] end, case when is_trouble then 'why' end,
      at, is_trouble::int, is_trouble
    from history;
  insert into rowpost.delivery_start (tenantid, deliveryid, started, leased_until, recipients, subject, createtime, carrier)
    select $TENANT, deliveryid, at, at + interval '6 s', array[recipient], 'Order ' || i, at, 'sendgrid'
    from history where not is_trouble;
  insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, http_status, createtime, carrier)
    select $TENANT, deliveryid, 1, at, at + interval '50 ms', case when is_trouble then 'failed' else 'sent' end, 202, at, 'sendgrid'
    from history;
  insert into rowpost.email_event (tenantid, deliveryid, provider_event_id, event, time, recipient, reason, type, createtime)
    select $TENANT, deliveryid, kind, kind, at + interval '2 s', recipient, 'said the carrier', nullif(kind, 'delivered'), at
    from history, lateral (select case when i % 50 = 7 then 'bounce' else 'delivered' end as kind) k where not is_trouble;
  drop table history;`;

const TYPES = `
  insert into rowpost.email_types (tenantid, email_type, template, subject, recipients, sender)
  select $TENANT, 'type_' || i, '<p>Dear {{ records.new.name }}, ' || repeat('lorem ipsum ', 200) || '</p>', 'Subject ' || i,
    '["a@example.com"]', 'shop@example.com' from generate_series(1, ${EMAIL_TYPES}) i`;

/** People, who signed in and changed something on each of 20 days. */
const PEOPLE = `
  with person as (
    insert into rowpost.role (tenantid, name, login)
    select $TENANT, 'Person ' || i, 'person' || i from generate_series(1, ${PEOPLE_COUNT}) i returning roleid, login),
  signed_in as (
    insert into rowpost.sign_in_event (tenantid, roleid, kind, slot, time, last_time)
    select $TENANT, roleid, 'sign_in', date_trunc('hour', at), at, at
    from person, lateral (select now() - day * interval '1 day' as at from generate_series(1, 20) day) days)
  insert into rowpost.audit_event (tenantid, roleid, login, time, object, key, operation, changes)
  select $TENANT, roleid, login, now() - day * interval '1 day', 'email_types', 'type_' || day, 'update',
    '[{"column": "subject", "before": "a", "after": "b"}]'
  from person, generate_series(1, 20) day`;

interface View {
  readonly name: string;
  readonly path: string;
  readonly cookie: string;
  readonly ms: number[];
}

console.log(
  `${describeMachine()}, ${DELIVERIES} deliveries, ${EMAIL_TYPES} email types, ${EMAILS_PER_SECOND} emails/s`,
);
await withSite(async (site) => {
  const { installation, shop, carrier } = site;
  const many = await site.addShop();
  const pool = new pg.Pool({ connectionString: installation.databaseUrl, max: 1 });
  const { rows } = await pool.query<{ ruleid: string }>(
    'select ruleid::text from rowpost.email_rule where tenantid = $1',
    [shop.tenantid],
  );
  const filled = (sql: string, tenantid: number): string =>
    sql.replaceAll('$TENANT', String(tenantid)).replaceAll('$RULE', rows[0]?.ruleid ?? '');
  await pool.query(filled(HISTORY, shop.tenantid));
  await pool.query(filled(TYPES, many.tenantid));
  await pool.query(filled(PEOPLE, many.tenantid));
  await pool.query('vacuum analyze');
  const trouble = await pool.query<{ id: string }>(
    `select deliveryid::text as id from rowpost.delivery where tenantid = $1 and state = 'failed' limit 1`,
    [shop.tenantid],
  );
  await pool.end();

  const { baseUrl } = await site.startAll('redis');
  const signIn = async (tenantid: number): Promise<string> => {
    const response = await fetch(`${baseUrl}/console/sign-in`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: baseUrl },
      body: new URLSearchParams({ tenant: String(tenantid), login: 'root', password: PASSWORD }),
    });
    return response.headers.getSetCookie()[0]?.split(';')[0] ?? '';
  };
  const [deliveries, types] = [await signIn(shop.tenantid), await signIn(many.tenantid)];
  const view = (cookie: string, name: string, path: string): View => ({ name, path, cookie, ms: [] });
  const views = [
    view(deliveries, 'overview', '/console/overview'),
    view(deliveries, 'overview of 30 days', '/console/overview?days=30'),
    view(deliveries, 'deliveries', '/console/deliveries'),
    view(deliveries, 'those that bounced', '/console/deliveries?status=bounced'),
    view(deliveries, 'a person', '/console/person?address=ada4000@example.com'),
    view(deliveries, 'those of a recipient', '/console/deliveries?to=ada4000@example.com'),
    view(deliveries, 'those of a part of an address', '/console/deliveries?to=ada4000'),
    view(deliveries, 'those that bounced with a word', '/console/deliveries?status=bounced&subject=nothing'),
    view(deliveries, 'those that failed', '/console/deliveries?state=failed'),
    view(deliveries, 'failures', '/console/failures'),
    view(deliveries, 'one delivery', `/console/deliveries/${trouble.rows[0]?.id ?? ''}`),
    view(deliveries, 'why', '/console/why?table=item&key=1'),
    view(deliveries, 'rules', '/console/rules'),
    view(deliveries, 'a rule', `/console/rules/edit?id=${rows[0]?.ruleid ?? ''}`),
    view(deliveries, 'roles', '/console/roles'),
    view(deliveries, 'tables', '/console/tables'),
    view(deliveries, 'addresses', '/console/addresses'),
    view(types, 'emails, of 5,000', '/console/emails'),
    view(types, 'emails with a word', '/console/emails?search=type_4999'),
    view(types, 'one email', '/console/emails/edit?type=type_4999'),
    view(types, 'a new rule, of 5,000 types', '/console/rules/edit'),
    view(types, `roles, with ${PEOPLE_COUNT} people`, '/console/roles'),
    view(types, 'sign-ins', '/console/sign-ins'),
    view(types, 'audit log', '/console/audit'),
    view(types, 'API keys', '/console/keys'),
    view(types, 'account', '/console/account'),
    view(types, 'identity providers', '/console/identity-providers'),
  ];
  const visit = async ({ path, cookie, ms }: View): Promise<void> => {
    const begun = performance.now();
    const response = await fetch(`${baseUrl}${path}`, { headers: { cookie }, redirect: 'manual' });
    const html = await response.text();
    if (response.status !== 200)
      throw new Error(`${path} responded ${response.status}: ${html.slice(0, 500)}`);
    ms.push(performance.now() - begun);
  };
  for (const each of views) await visit(each);
  for (const each of views) each.ms.length = 0;

  const mutator = mutateRowpost(baseUrl, shop, CONNECTIONS);
  await runClosedLoad(mutator, carrier, WARM_UP);
  const pace = { perSecond: EMAILS_PER_SECOND, seconds: SECONDS };
  for (let round = 1; round <= 2; round++) {
    console.log(`without the console: ${describeLatency(await measureLatency(mutator, carrier, pace))}`);
    const over = new AbortController();
    const person = (async () => {
      for (let turn = 0; !over.signal.aborted; turn++) {
        const next = views[turn % views.length];
        if (next) await visit(next);
        await delay(THINK_MS);
      }
    })();
    const measured = await measureLatency(mutator, carrier, pace);
    over.abort();
    await person;
    console.log(`with it:             ${describeLatency(measured)}`);
  }
  mutator.close();
  console.log('\n| page | visits | p50 ms | p95 ms | max ms |\n| --- | --- | --- | --- | --- |');
  for (const { name, ms } of views) {
    const shown = [0.5, 0.95, 1].map((share) => percentile(ms, share).toFixed(0)).join(' | ');
    console.log(`| ${name} | ${ms.length} | ${shown} |`);
  }
});

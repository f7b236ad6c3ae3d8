import type { Email } from '../../src/email/email.js';
import { countDeliveries } from '../../src/db/ledger/countDeliveries.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { packEmail, toSentEmail } from '../../src/email/sentEmail.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { knexOf } from '../support/knexOf.js';
import { testKeyRing } from '../support/testConfig.js';
import { ROOT_LOGIN, ROOT_PASSWORD, textAt, WebFixture, type Json } from './webFixture.js';

const CLERK_PASSWORD = 'secret of the clerk';

/** A shop whose ledger says what a test wants it to say, and another tenant beside it. */
export class ConsoleShop {
  private constructor(
    readonly fixture: WebFixture,
    readonly tenantid: number,
    readonly ruleid: string,
    readonly root: string,
  ) {}

  static async open(env: Readonly<Record<string, string>> = {}): Promise<ConsoleShop> {
    const fixture = await WebFixture.start({ env });
    const { tenantid } = await fixture.createTenant(
      'shop',
      `create table orders (order_id int primary key, status text, total numeric, customer text);
       insert into orders values (7, 'new', 12345678901234567890.50, '<b>Ada</b>');`,
    );
    await fixture.createTenant('other');
    const root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    const made = await fixture.control(
      root,
      `mutation ($clerk: roleInput, $viewer: roleInput, $type: email_typesInput, $rule: email_ruleInput) {
        create_role(input: $clerk) { roleid }
        viewer: create_role(input: $viewer) { roleid }
        create_email_type(input: $type) { email_type }
        create_email_rule(input: $rule) { ruleid }
      }`,
      {
        viewer: { login: 'viewer', password: CLERK_PASSWORD, capabilities: ['login', 'view_delivery'] },
        clerk: { login: 'clerk', password: CLERK_PASSWORD, capabilities: ['login', 'select'] },
        type: {
          email_type: 'confirmation',
          template: '<h1>Thank you, {{ records.new.customer }}</h1><p>{{ records.new.total }}</p>',
          subject: 'Order {{ records.new.order_id }} is {{ records.new.status }}',
          recipients: ['ada@example.com'],
          sender: 'Shop <shop@example.com>',
        },
        rule: {
          name: 'Paid orders',
          operations: ['update'],
          targets: ['orders'],
          email_type: 'confirmation',
          query_roleid: (await fixture.signIn(tenantid)).roleid,
          condition: "new.status = 'paid'",
        },
      },
    );
    return new ConsoleShop(fixture, tenantid, textAt(made, 'data.create_email_rule.ruleid'), root);
  }

  /** As the tenant's owner. */
  async sql(text: string): Promise<void> {
    await runTenantSql(this.fixture.testDatabase.database, { tenantid: this.tenantid, sql: text });
  }

  close(): Promise<void> {
    return this.fixture.stop();
  }

  async signedIn(
    tenant = 'shop',
    login = ROOT_LOGIN,
    password = login === ROOT_LOGIN ? ROOT_PASSWORD : CLERK_PASSWORD,
  ): Promise<ConsoleBrowser> {
    const browser = new ConsoleBrowser(this.fixture);
    await browser.signIn(tenant, login, password);
    return browser;
  }

  /** A change made through the API. @returns the id of the event that it wrote */
  async changeOrder(order_id: number, before: string, after: string): Promise<string> {
    for (const status of [before, after]) {
      await this.fixture.graphql(
        '/query',
        this.root,
        `mutation { update_orders(order_id: ${order_id}, input: { status: "${status}" }) { order_id } }`,
      );
    }
    const { rows } = await this.#knex.raw<{ rows: { eventid: string }[] }>(
      'select max(eventid)::text as eventid from rowpost.outbox where tenantid = ?',
      [this.tenantid],
    );
    return rows[0]!.eventid;
  }

  /** A delivery of an event like the given one. @returns its id */
  async deliver(eventid: string, values: Json): Promise<string> {
    const { rows } = await this.#knex.raw<{ rows: { eventid: string; createtime: string }[] }>(
      `insert into rowpost.outbox (time, tenantid, roleid, operation, target, key, old, new)
       select time, tenantid, roleid, operation, target, key, old, new from rowpost.outbox where eventid = ?
       returning eventid::text, time::text as createtime`,
      [eventid],
    );
    const [row] = await this.#knex('rowpost.delivery')
      .insert({
        tenantid: this.tenantid,
        ruleid: this.ruleid,
        email_type: 'confirmation',
        operation: 'update',
        target: 'orders',
        key: JSON.stringify({ order_id: 7 }),
        delivery: 'at_least_once',
        tracked: true,
        attempts: 1,
        starts: 2,
        ...rows[0]!,
        ...values,
      })
      .returning<{ deliveryid: string }[]>('deliveryid');
    return row!.deliveryid;
  }

  /** Many deliveries, newer than all others. */
  async crowd(count: number): Promise<void> {
    await this.#knex.raw(
      `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, createtime,
         state, recipients, subject, tracked)
       select ?, i, ?, 'confirmation', 'update', 'orders', '{"order_id": 7}', 'at_least_once', now(), 'sent',
         array['ada@example.com'], 'email ' || i, true
       from generate_series(1, ?::int) i`,
      [this.tenantid, this.ruleid, count],
    );
  }

  /** As a relay does every few seconds. */
  count(): Promise<void> {
    return countDeliveries(this.fixture.testDatabase.database.pool);
  }

  async attempt(deliveryid: string, values: Json): Promise<void> {
    const now = new Date();
    await this.#ofDelivery('rowpost.email_attempt', deliveryid, { started: now, finished: now, ...values });
  }

  /** As the worker keeps the email of an attempt. */
  async keepEmail(deliveryid: string, attempt: number, email: Email): Promise<void> {
    const key = { tenantid: this.tenantid, deliveryid, attempt };
    const kept = await packEmail(testKeyRing, key, toSentEmail(email, `<${deliveryid}@example.com>`));
    await this.#ofDelivery('rowpost.sent_mail', deliveryid, { attempt, email: kept });
  }

  async report(deliveryid: string, values: Json): Promise<void> {
    const more = { time: new Date(), recipient: 'ada@example.com', provider_event_id: `event ${deliveryid}` };
    await this.#ofDelivery('rowpost.email_event', deliveryid, { ...more, ...values });
  }

  async #ofDelivery(table: string, deliveryid: string, values: Json): Promise<void> {
    const { rows } = await this.#knex.raw<{ rows: { tenantid: number; createtime: string }[] }>(
      'select tenantid, createtime::text from rowpost.delivery where deliveryid = ?',
      [deliveryid],
    );
    await this.#knex(table).insert({ ...rows[0]!, deliveryid, ...values });
  }

  get #knex(): ReturnType<typeof knexOf> {
    return knexOf(this.fixture.testDatabase.database);
  }
}

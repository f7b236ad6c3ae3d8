import { expect } from 'chai';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { insertRole } from '../../src/control/roles/roles.js';
import { PrincipalSource } from '../../src/db/roles/principal.js';
import { createRelayWaker, type RelayWaker } from '../../src/db/pool/wakeup.js';
import { createDataEngine, type DataEngine } from '../../src/graphql/dataEngine.js';
import { partOf, startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { testLog } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';
import {
  BACKENDS,
  countStates,
  createRule,
  createTenantWithTables,
  pipelineConfig,
  startPipeline,
  type Pipeline,
  type RuleOptions,
} from './pipelineSetup.js';
import { knexOf } from '../support/knexOf.js';

const TABLES = `
  create table customer (customer_id int primary key, name text, email text);
  create table orders (order_id int primary key, customer_id int references customer, status text, total numeric);
  create table item (item_id int primary key, order_id int references orders, product text, price numeric);
  insert into customer values (1, 'Ada', 'ada@example.com');
`;
const ITEMS_QUERY = {
  query: `query ($filter: String) { orders(filter: $filter) { order_id total customer { name email }
    item_collection(ordering: ["item_id"]) { product price } } }`,
  filter: 'order_id = {{ records.new.order_id }}',
  outvar: 'orders',
};

for (const backend of BACKENDS) {
  describe(`delivery: from mutation to email, queue in ${backend}`, () => {
    let db: TestDatabase;
    let provider: FakeProvider;
    let engine: DataEngine;
    let templates: TemplatePool;
    let waker: RelayWaker;
    let pipeline: Pipeline;
    let principals: PrincipalSource;
    let tenant: CreatedTenant;

    before(async () => {
      db = await createTestDatabase();
      provider = await startFakeProvider();
      // Without the wake-up the relay would look once in a minute.
      const config = await pipelineConfig(backend, {
        SENDGRID_BASE_URL: provider.url,
        RELAY_POLL_MS: '60000',
      });
      const { database } = db;
      waker = createRelayWaker({ database, log: testLog });
      engine = createDataEngine({ database, config, log: testLog, onCommitted: () => waker.wake() });
      templates = createTemplatePool();
      principals = new PrincipalSource(database.pool);
      pipeline = await startPipeline(database, config, { engine, templates, principals });
    });
    after(async () => {
      await pipeline.stop();
      await waker.stop();
      await templates.close();
      await provider.stop();
      await db.drop();
    });
    beforeEach(async () => {
      tenant = await createTenantWithTables(db.database, TABLES);
    });

    const mutate = async (mutation: string): Promise<void> => {
      const principal = await principals.load(tenant.tenantid, tenant.rootRoleid);
      const { body } = await engine.execute(
        principal!,
        { query: `mutation { ${mutation} }` },
        { allowMutation: true },
      );
      if (body.includes('"errors"')) throw new Error(body);
    };
    const createOrderRule = (options: RuleOptions = {}, roleid = tenant.rootRoleid) =>
      createRule(
        db.database,
        { tenantid: tenant.tenantid, roleid, apiKey: '' },
        {
          targets: ['orders'],
          operations: ['insert', 'update'],
          subject: 'Order {{ orders[0].order_id }}: {{ records.new.status }}',
          recipients: ['{{ orders[0].customer.name }} <{{ orders[0].customer.email }}>'],
          template:
            '{% for i in orders[0].item_collection %}<li>{{ i.product }} {{ i.price }}</li>{% endfor %}',
          queries: [ITEMS_QUERY],
          ...options,
        },
      );
    const states = () => countStates(db.database, tenant.tenantid);
    const calls = () => provider.calls.filter((call) => call.tenantid === String(tenant.tenantid));
    const delivery = () =>
      knexOf(db.database)('rowpost.email_delivery').where({ tenantid: tenant.tenantid }).first() as Promise<
        Record<string, unknown>
      >;
    const ORDER = `create_orders(input: { order_id: 7, customer_id: 1, status: "new", total: "12.50" }) { order_id }
      a: create_item(input: { item_id: 1, order_id: 7, product: "Tea <green>", price: "2.75" }) { item_id }
      b: create_item(input: { item_id: 2, order_id: 7, product: "Cup", price: "10" }) { item_id }`;

    it('an order with its items becomes an email that lists them', async () => {
      await createOrderRule();
      const begun = Date.now();
      await mutate(ORDER);
      await waitFor('the email', async () => (await states())['sent'] === 1);
      expect(Date.now() - begun, 'woken, not polled').to.be.below(30_000);
      const { body } = calls()[0]!;
      expect(body.subject).to.equal('Order 7: new');
      expect(body.personalizations[0]!.to).to.deep.equal([{ email: 'ada@example.com', name: 'Ada' }]);
      expect(partOf(body)).to.equal('<li>Tea &lt;green&gt; 2.75</li><li>Cup 10</li>');
      expect(await delivery()).to.deep.include({
        operation: 'insert',
        target: 'orders',
        key: { order_id: 7 },
      });
    });

    it('a rolled back mutation sends nothing', async () => {
      await createOrderRule();
      await mutate(`${ORDER} c: create_item(input: { item_id: 2, order_id: 7 }) { item_id }`).then(
        () => expect.fail('the duplicate key was accepted'),
        () => undefined,
      );
      await mutate(ORDER);
      await waitFor('the email', async () => (await states())['sent'] === 1);
      expect(calls()).to.have.length(1);
    });

    it('a condition over old, new and relations decides', async () => {
      await createOrderRule({
        condition: `new.status = 'paid' and old.status != 'paid' and new.customer.name = 'Ada'`,
      });
      await mutate(ORDER);
      await mutate('update_orders(order_id: 7, input: { status: "packed" }) { order_id }');
      await mutate('update_orders(order_id: 7, input: { status: "paid" }) { order_id }');
      await mutate('update_orders(order_id: 7, input: { total: "13" }) { order_id }');
      await waitFor('the email', async () => (await states())['sent'] === 1);
      await waitFor('every batch to be evaluated', async () => {
        const { rows } = await db.database.pool.query(
          'select from rowpost.relay_batch b where not exists (select from rowpost.relay_batch_done d where d.batchid = b.batchid)',
        );
        return rows.length === 0;
      });
      expect(await states()).to.deep.equal({ sent: 1 });
      expect(calls()[0]!.body.subject).to.equal('Order 7: paid');
    });

    it('a condition whose column is gone ends as a failed delivery that says so', async () => {
      await createOrderRule({ condition: `new.status = 'new'` });
      await runTenantSql(db.database, {
        tenantid: tenant.tenantid,
        sql: 'alter table orders drop column status',
      });
      await engine.introspect(tenant.tenantid, tenant.schema);
      await mutate('create_orders(input: { order_id: 7, customer_id: 1 }) { order_id }');
      await waitFor('the failure', async () => (await states())['failed'] === 1);
      expect(await delivery()).to.include({ error_code: 'CONDITION_FAILED' });
      expect((await delivery())['error']).to.match(/status/);
    });

    it('queries see what the rule’s role may see', async () => {
      const roleid = await insertRole(db.database.pool, {
        tenantid: tenant.tenantid,
        login: 'mailer',
        name: 'mailer',
        passwordHash: null,
        parentid: tenant.rootRoleid,
        classes: [],
        capabilities: ['select'],
        creatorid: tenant.rootRoleid,
      });
      await createOrderRule({}, roleid);
      await mutate(ORDER);
      await waitFor('the failure', async () => (await states())['failed'] === 1);
      expect(await delivery()).to.include({ error_code: 'PERMISSION_DENIED' });
      expect(calls()).to.deep.equal([]);
    });

    it('a deleted row is in records.old', async () => {
      await createRule(
        db.database,
        { tenantid: tenant.tenantid, roleid: tenant.rootRoleid, apiKey: '' },
        {
          targets: ['customer'],
          operations: ['delete'],
          subject: 'Goodbye {{ records.old.name }}{{ records.new }}',
          recipients: ["{{ records['old']['email'] }}"],
        },
      );
      await mutate('delete_customer(customer_id: 1) { customer_id }');
      await waitFor('the email', async () => (await states())['sent'] === 1);
      expect(calls()[0]!.body.subject).to.equal('Goodbye AdaNone');
    });
  });
}

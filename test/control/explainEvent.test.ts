import { expect } from 'chai';
import { why } from '../../src/commands/why.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { dropOldPartitions } from '../../src/db/outbox/partitions.js';
import { pollOutbox } from '../../src/db/outbox/pollOutbox.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { UsageError } from '../../src/foundation/errors.js';
import { TenantLimiter } from '../../src/foundation/limits/tenantLimiter.js';
import { evaluateRules } from '../../src/worker/evaluateBatch.js';
import { FailedEvaluations } from '../../src/worker/failedEvaluations.js';
import { at, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { NO_LIMITS } from '../delivery/pipelineSetup.js';
import { capturedOutput } from '../support/capturedOutput.js';
import { testEnv, testLog } from '../support/testConfig.js';
import { knexOf } from '../support/knexOf.js';

const TABLES = `
  create table customer (id int primary key, name text);
  create table orders (id int primary key, status text, total numeric(10, 2), customer_id int references customer);
  create table line (order_id int, "line-no" int, price numeric(10, 2), primary key (order_id, "line-no"));
  create table price (amount numeric(10, 2) primary key);
  create table device (id bytea primary key, name text);
  create table tag (name text primary key);
  create table json_key (j jsonb primary key, name text);
  create domain version as int not null default 1;
  create table versioned (id char(3) primary key, version version);
  create table visit (note text);
  create table computed (id int primary key generated always as identity);
  create view paid as select * from orders where status = 'paid';
  insert into customer values (1, 'Ada');`;

const EXPLAIN = `query ($target: String!, $key: GenericScalar!) { Utility { explain_event(target: $target, key: $key) {
  target key writers row_exists retention_days notes has_more searched_since
  events { time operation roleid writer application progress
    rules { ruleid name reason explanation condition saw { name value }
      delivery { deliveryid email_type state attempts error_code error next_attempt sent_time } } } } } }`;

interface Rule {
  readonly name: string | null;
  readonly reason: string;
  readonly explanation: string;
  readonly saw: readonly { readonly name: string; readonly value: unknown }[];
  readonly delivery: {
    readonly deliveryid: string;
    readonly state: string;
    readonly error_code: string;
  } | null;
}
interface Explained {
  readonly key: unknown;
  readonly writers: string | null;
  readonly row_exists: boolean | null;
  readonly notes: readonly string[];
  readonly has_more: boolean;
  readonly searched_since: string | null;
  readonly events: readonly {
    readonly operation: string;
    readonly roleid: number | null;
    readonly writer: string | null;
    readonly progress: string;
    readonly rules: readonly Rule[];
  }[];
}

describe('Utility.explain_event', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let shops = 0;

  before(async () => {
    fixture = await WebFixture.start();
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    tenant = await fixture.createTenant(`shop${(shops += 1)}`, TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await done('mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    await done(`mutation { create_email_type(input: { email_type: "email", template: "T", subject: "S",
      recipients: ["a@example.com"], sender: "b@example.com" }) { email_type } }`);
  });

  async function done(query: string, variables?: Json): Promise<GraphqlResult> {
    const result = await fixture.control(root, query, variables);
    expect(result.errors, query).to.equal(undefined);
    return result;
  }
  const mutate = async (mutation: string): Promise<void> => {
    const { errors } = await fixture.graphql('/query', root, `mutation { ${mutation} }`);
    expect(errors, mutation).to.equal(undefined);
  };
  const makeRule = (input: Json): Promise<GraphqlResult> =>
    fixture.control(
      root,
      'mutation ($input: email_ruleInput) { made: create_email_rule(input: $input) { ruleid } }',
      {
        input: {
          operations: ['update'],
          targets: ['orders'],
          email_type: 'email',
          query_roleid: tenant.rootRoleid,
          ...input,
        },
      },
    );
  const ruleid = async (input: Json): Promise<string> => textAt(await makeRule(input), 'data.made.ruleid');
  const ask = (target: string, key: unknown, token = root): Promise<GraphqlResult> =>
    fixture.control(token, EXPLAIN, { target, key });
  async function explain(target: string, key: unknown): Promise<Explained> {
    const result = await ask(target, key);
    expect(result.errors).to.equal(undefined);
    return at(result, 'data.Utility.explain_event') as Explained;
  }
  /** What a relay does; @returns the batches for a worker. */
  const relay = async () =>
    (await pollOutbox(fixture.testDatabase.database.ledger, { batchEvents: 100, pollEvents: 1_000 })).batches;
  async function pipeline(batches?: Awaited<ReturnType<typeof relay>>): Promise<void> {
    const { ledger } = fixture.testDatabase.database;
    const deps = {
      ledger,
      engine: fixture.engine,
      limits: NO_LIMITS,
      records: new TenantLimiter({ max: 1 }),
      failed: new FailedEvaluations(),
      log: testLog,
    };
    for (const batch of batches ?? (await relay())) await evaluateRules(deps, batch, false);
  }
  const reasons = (rules: readonly Rule[] | undefined) => rules?.map(({ name, reason }) => [name, reason]);

  it('explains for each rule why it matched a change or did not', async () => {
    await mutate('create_orders(input: { id: 7, status: "new", total: 5, customer_id: 1 }) { id }');
    await pipeline();
    await ruleid({ name: 'matching', condition: "new.status = 'paid' and old.status != 'paid'" });
    await ruleid({
      name: 'false',
      condition: "new.status = 'sent' and new.customer.name = 'Ada' or old.total > 9",
    });
    await ruleid({ name: 'failing', condition: 'number(new.status) > 5' });
    await ruleid({ name: 'inserts', operations: ['insert', 'delete'] });
    await ruleid({ name: 'customers', targets: ['customer'] });
    await ruleid({ name: 'disabled', enabled: false });
    await mutate('update_orders(id: 7, input: { status: "paid" }) { id }');

    const waiting = await explain('orders', 7);
    expect(
      waiting.events.map(({ operation, progress, roleid }) => [operation, progress, roleid]),
    ).to.deep.equal([
      ['update', 'waiting', tenant.rootRoleid],
      ['insert', 'evaluated', tenant.rootRoleid],
    ]);
    expect(reasons(waiting.events[0]?.rules)).to.deep.equal([
      ['matching', 'will_match'],
      ['false', 'condition_false'],
      ['failing', 'condition_failed'],
      ['inserts', 'other_operation'],
      ['disabled', 'disabled'],
      ['customers', 'other_table'],
    ]);
    const [matching, unmet, failing, inserts, , customers] = waiting.events[0]!.rules;
    expect(matching?.explanation).to.include('the relay');
    expect(unmet?.saw).to.deep.equal([
      { name: 'new.status', value: 'paid' },
      { name: 'old.total', value: 5 },
    ]);
    expect(unmet?.explanation).to.equal(
      'The condition is false. It reads other rows, whose values at that time are not recorded: new.customer.name.',
    );
    expect(failing?.explanation).to.match(/^the rule's condition: /);
    expect(inserts?.explanation).to.equal('The rule is for insert, delete, not update.');
    expect(customers?.explanation).to.equal('The rule is for customer, not orders.');

    const batches = await relay();
    const queued = await explain('orders', { id: 7 });
    expect(queued.events[0]?.progress).to.equal('queued');
    expect(queued.events[0]?.rules[0]?.explanation).to.include('a worker');
    await pipeline(batches);

    await ruleid({ name: 'late' });
    const late = await done('{ email_rule(filter: "name = \'disabled\'") { ruleid } }');
    await done(
      `mutation { update_email_rule(ruleid: ${textAt(late, 'data.email_rule.0.ruleid')}, input: { enabled: true }) { ruleid } }`,
    );
    const evaluated = await explain('orders', '7');
    expect(evaluated.events[0]?.progress).to.equal('evaluated');
    expect(reasons(evaluated.events[0]?.rules)).to.deep.equal([
      ['matching', 'matched'],
      ['false', 'condition_false'],
      ['failing', 'condition_failed'],
      ['inserts', 'other_operation'],
      ['disabled', 'changed_since'],
      ['late', 'made_after'],
      ['customers', 'other_table'],
    ]);
    const [sent, , failed] = evaluated.events[0]!.rules;
    expect(sent?.delivery).to.include({ state: 'pending', error_code: null });
    expect(failed?.delivery).to.include({ state: 'failed', error_code: 'CONDITION_FAILED' });
    expect(evaluated).to.deep.include({
      key: { id: 7 },
      writers: 'api',
      row_exists: true,
      has_more: false,
      searched_since: null,
    });
  });

  it('is read-only and repeatable', async () => {
    await ruleid({ name: 'paid', condition: "new.status = 'paid'" });
    await mutate('create_orders(input: { id: 7, status: "new" }) { id }');
    await mutate('update_orders(id: 7, input: { status: "paid" }) { id }');
    const counts = async (): Promise<unknown> =>
      (
        await fixture.testDatabase.database.pool
          .query(`select (select count(*) from rowpost.outbox) as events,
          (select count(*) from rowpost.delivery) as deliveries, (select count(*) from rowpost.relay_batch) as batches,
          (select count(*) from rowpost.relay_poll) as polls`)
      ).rows;
    const before = await counts();
    expect(await explain('orders', 7)).to.deep.equal(await explain('orders', 7));
    expect(await counts()).to.deep.equal(before);
  });

  it('covers unmatched changes for the full retention, and deliveries of deleted rules', async () => {
    const id = await ruleid({ name: 'short-lived', operations: ['insert'] });
    await mutate('create_orders(input: { id: 7, status: "new" }) { id }');
    await mutate('create_tag(input: { name: "unheard" }) { name }');
    await pipeline();
    await done(`mutation { delete_email_rule(ruleid: ${id}) { ruleid } }`);
    const order = await explain('orders', 7);
    expect(order.events[0]?.rules).to.have.length(1);
    expect(order.events[0]?.rules[0]).to.deep.include({ name: null, reason: 'matched' });
    expect(order.events[0]?.rules[0]?.explanation).to.include('has been deleted since');
    const tag = await explain('tag', 'unheard');
    expect(tag.events.map(({ operation, progress }) => [operation, progress])).to.deep.equal([
      ['insert', 'evaluated'],
    ]);
    expect(tag.notes).to.include('The tenant has no email rule.');
    const { ledger } = fixture.testDatabase.database;
    const dayMs = 24 * 3_600_000;
    await dropOldPartitions(ledger, Date.now() + 29 * dayMs, { retentionDays: 30, keepEmailDays: 7 });
    expect((await explain('tag', 'unheard')).events).to.have.length(1);
    await dropOldPartitions(ledger, Date.now() + 32 * dayMs, { retentionDays: 30, keepEmailDays: 7 });
    const gone = await explain('tag', 'unheard');
    expect(gone.events).to.deep.equal([]);
    expect(gone.notes.join('\n')).to.include('RETENTION_DAYS');
  });

  it('shows whose changes are captured, and why there may be none', async () => {
    const sql = `insert into orders values (8, 'new', 1, null)`;
    await runTenantSql(fixture.testDatabase.database, { tenantid: tenant.tenantid, sql });
    const before = await explain('orders', 8);
    expect([before.writers, before.row_exists, before.events]).to.deep.equal(['api', true, []]);
    expect(before.notes[0]).to.include('changes made with SQL are not').and.include('writers: all');
    await done('mutation { Utility { set_capture(table_name: "orders", writers: all) { writers } } }');
    await runTenantSql(fixture.testDatabase.database, {
      tenantid: tenant.tenantid,
      sql: `update orders set status = 'paid' where id = 8; delete from orders where id = 8`,
    });
    const after = await explain('orders', 8);
    expect([after.writers, after.row_exists, after.notes]).to.deep.equal([
      'all',
      false,
      ['The tenant has no email rule.'],
    ]);
    expect(after.events.map(({ operation, roleid }) => [operation, roleid])).to.deep.equal([
      ['delete', null],
      ['update', null],
    ]);
    expect(after.events[0]?.writer).to.be.a('string');
    await runTenantSql(fixture.testDatabase.database, {
      tenantid: tenant.tenantid,
      sql: 'truncate orders; alter table orders disable trigger user',
    });
    const truncated = await explain('orders', 9);
    expect([truncated.row_exists, truncated.events[0]?.operation]).to.deep.equal([false, 'truncate']);
    expect(truncated.notes.join('\n')).to.include('are disabled');
    for (const [target, reason] of [
      ['paid', 'is a view'],
      ['visit', 'has no primary key'],
    ] as const) {
      const readOnly = await explain(target, 1);
      expect([readOnly.writers, readOnly.events]).to.deep.equal([null, []]);
      expect(readOnly.notes[0]).to.include(reason);
    }
  });

  it('accepts keys in any form, and reports invalid ones', async () => {
    await mutate('create_line(input: { order_id: 1, line_no: 2, price: 3 }) { order_id }');
    await mutate('create_price(input: { amount: 7 }) { amount }');
    for (const key of [
      { order_id: 1, line_no: 2 },
      { order_id: '1', 'line-no': '2' },
    ]) {
      expect((await explain('line', key)).events, JSON.stringify(key)).to.have.length(1);
    }
    for (const key of [7, '7.00', { amount: '7.0' }]) {
      expect((await explain('price', key)).events, JSON.stringify(key)).to.have.length(1);
    }
    await mutate('create_device(input: { id: "AP8=", name: "Scale" }) { id }');
    for (const key of ['AP8=', '\\x00ff', { id: 'AP8=' }]) {
      expect((await explain('device', key)).events, JSON.stringify(key)).to.have.length(1);
      const preview = `query ($key: GenericScalar) { Utility {
        preview_email(email_type: "email", input: { subject: "{{ records.new.name }}" }, target: "device", key: $key) { subject } } }`;
      expect(textAt(await done(preview, { key }), 'data.Utility.preview_email.subject')).to.equal('Scale');
    }
    const json = '{"n": 9007199254740993.10}';
    await mutate(`create_json_key(input: { j: ${JSON.stringify(json)}, name: "x" }) { j }`);
    for (const key of [json, { j: '{"n":9007199254740993.10}' }]) {
      expect((await explain('json_key', key)).events, JSON.stringify(key)).to.have.length(1);
    }
    await mutate('create_versioned(input: { id: "a" }) { id }');
    for (const key of ['a', 'a  ']) {
      expect((await explain('versioned', key)).events, key).to.have.length(1);
    }
    const wrong: [string, unknown, string][] = [
      ['orders', 'seven', 'id int4'],
      ['orders', '7 or 1=1', 'id int4'],
      ['orders', 7.5, 'id int4'],
      ['orders', '99999999999', 'out of the range'],
      ['orders', true, 'id int4'],
      ['orders', { no: 7 }, 'key must give id'],
      ['orders', [7], 'key must give id'],
      ['line', 7, 'key must give order_id, as in {"order_id": …, "line_no": …}'],
      ['line', { order_id: 1 }, 'key must give line_no'],
      ['price', '7.001', 'more digits'],
      ['device', 'no!', 'id is not base64'],
      ['json_key', '{', 'j jsonb'],
      ['tag', 'a\u0000b', "can't store"],
    ];
    for (const [target, key, message] of wrong) {
      const { errors } = await ask(target, key);
      expect(errors?.[0]?.extensions.code, JSON.stringify(key)).to.equal('BAD_USER_INPUT');
      expect(errors?.[0]?.message).to.include(message);
    }
    for (const key of [`'; drop table tag; --`, `"`, '\\', '{"name": "x"}', '$1', '%', '__proto__']) {
      await mutate(`create_tag(input: { name: ${JSON.stringify(key)} }) { name }`);
      const found = await explain('tag', { name: key });
      expect([found.key, found.events.length], key).to.deep.equal([{ name: key }, 1]);
    }
    const unknown = await ask('order', 7);
    expect(unknown.errors?.[0]?.extensions).to.include({ code: 'UNKNOWN_TABLE' });
    expect(unknown.errors?.[0]?.extensions['hint']).to.include('orders');
  });

  it('is for administrators of the tenant only', async () => {
    await mutate('create_orders(input: { id: 7, status: "secret of the shop" }) { id }');
    const clerk = await fixture.createMember(root, 'clerk', ['login', 'select']);
    const refused = await ask('orders', 7, clerk.token);
    expect(refused.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
    const other = await fixture.createTenant('other', TABLES);
    const stranger = (await fixture.signIn(other.tenantid)).access_token;
    const theirs = await ask('orders', 7, stranger);
    expect(at(theirs, 'data.Utility.explain_event.events')).to.deep.equal([]);
    expect(JSON.stringify(theirs)).not.to.include('secret of the shop');
    const get = await fixture.fetch(
      `/roles_pbac?query=${encodeURIComponent('{ Utility { explain_event(target: "orders", key: 7) { target } } }')}`,
      { headers: { authorization: `Bearer ${root}`, accept: 'application/json' } },
    );
    expect(get.status, 'a read').to.equal(200);
  });

  it('shows the ten newest changes, and that there are more', async () => {
    await mutate('create_orders(input: { id: 7, status: "0" }) { id }');
    for (let i = 1; i <= 10; i++) await mutate(`update_orders(id: 7, input: { status: "${i}" }) { id }`);
    const { events, has_more } = await explain('orders', 7);
    expect([events.length, has_more, events[0]?.operation]).to.deep.equal([10, true, 'update']);
  });

  it('refuses rules on tables without captured writers', async () => {
    const never = { name: 'never', operations: ['insert'], targets: ['computed'] };
    const refused = await makeRule(never);
    expect(refused.errors?.[0]?.extensions).to.include({ code: 'READ_ONLY_TABLE', target: 'computed' });
    await done('mutation { Utility { set_capture(table_name: "computed", writers: all) { writers } } }');
    await ruleid(never);
    const { pool, tenants } = fixture.testDatabase.database;
    const role = (await tenants.names()).tenant(tenant.tenantid);
    await pool.query(`revoke delete on ${tenant.schema}.orders from ${role}`);
    const deletes = { name: 'deletes', operations: ['delete'] };
    expect((await makeRule(deletes)).errors?.[0]?.message).to.include("can't do delete on orders");
    await ruleid({ name: 'deletes and updates', operations: ['delete', 'update'] });
    await done('mutation { Utility { set_capture(table_name: "orders", writers: all) { writers } } }');
    await ruleid(deletes);
  });

  it('refuses conditions on $_PRINCIPAL, and explains existing ones', async () => {
    const condition = `new.id = $_PRINCIPAL.roleid`;
    const refused = await makeRule({ name: 'caller', condition });
    expect(refused.errors?.[0]?.extensions).to.include({ code: 'FILTER_TYPE' });
    const id = await ruleid({ name: 'caller', operations: ['insert'] });
    await knexOf(fixture.testDatabase.database)('rowpost.email_rule')
      .where({ ruleid: id })
      .update({ condition });
    await mutate('create_orders(input: { id: 7 }) { id }');
    const { events } = await explain('orders', 7);
    expect(events[0]?.rules[0]).to.deep.include({ reason: 'condition_false' });
    expect(events[0]?.rules[0]?.explanation).to.include('$_PRINCIPAL is always null');
  });

  describe('as rowpost why', () => {
    let environment: NodeJS.ProcessEnv;

    beforeEach(() => {
      environment = { ...process.env };
      Object.assign(process.env, testEnv({ DATABASE_URL: fixture.testDatabase.url }));
    });
    afterEach(() => {
      process.env = environment;
    });
    const run = (...args: string[]): Promise<string> =>
      capturedOutput(() => why(['--tenant', String(tenant.tenantid), ...args]));
    const refusal = (...args: string[]): Promise<unknown> =>
      why(args).then(
        () => 'it was not refused',
        (error: unknown) => error,
      );

    it("prints a row's history line by line", async () => {
      await ruleid({ name: 'all inserts', operations: ['insert'] });
      await ruleid({ name: 'dear', operations: ['insert'], condition: 'new.total > 100' });
      await mutate('create_orders(input: { id: 7, status: "a\\nb\\u001b[2J", total: 5 }) { id }');
      await pipeline();
      const text = await run('--table', 'orders', '--key', '7');
      expect(text).to.match(
        /^orders \{"id":7\}\ncaptured: mutations of \/query\nrow: exists\nnote: Only mutations at \/query are captured.*\n\n/,
      );
      expect(text).to.match(/^\d{4}-\d\d-\d\dT\S+ insert by role \d+: compared with the rules$/m);
      expect(text).to.match(/^ {2}rule \d+ "all inserts": matched\. The rule matched: delivery \d+\.$/m);
      expect(text).to.match(/^ {4}delivery \d+ of "email": pending, attempts: 0$/m);
      expect(text).to.match(
        /^ {2}rule \d+ "dear": condition_false\. .*\n {4}condition: new\.total > 100\n {4}new\.total = 5\.00$/m,
      );
      await mutate('create_line(input: { order_id: 1, line_no: 2, price: 3 }) { order_id }');
      expect(await run('--table', 'line', '--key', '{"order_id": 1, "line-no": 2}')).to.include(
        'insert by role',
      );
      expect(await run('--table', 'paid', '--key', '1')).to.include(
        'captured: nothing\nnote: paid is a view',
      );
    });

    it('rejects invalid arguments', async () => {
      const id = String(tenant.tenantid);
      for (const args of [
        [],
        ['--tenant', 'x', '--table', 'orders', '--key', '7'],
        ['--tenant', id, '--key', '7'],
        ['--tenant', id, '--table', 'orders'],
      ]) {
        expect(await refusal(...args), args.join(' ')).to.be.instanceOf(UsageError);
      }
      const codeOf = async (...args: string[]): Promise<unknown> =>
        ((await refusal(...args)) as { code?: string }).code;
      expect(await codeOf('--tenant', id, '--table', 'nothing', '--key', '7')).to.equal('UNKNOWN_TABLE');
      expect(await codeOf('--tenant', id, '--table', 'orders', '--key', '{7')).to.equal('BAD_USER_INPUT');
      expect(await codeOf('--tenant', '9999', '--table', 'orders', '--key', '7')).to.equal(
        'TENANT_NOT_FOUND',
      );
    });
  });
});

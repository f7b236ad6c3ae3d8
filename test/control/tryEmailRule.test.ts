import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { Random, SEED } from '../graphql/filter/random.js';
import { at, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const TABLES = `
  create table customer (id int primary key, name text, secret text);
  create table orders (id int primary key, status text, total numeric(10, 2), customer_id int references customer);
  create table line (id int primary key, status text);
  create table quiet (id int primary key, status text);
  insert into customer values (1, 'Ada', 'hush');`;

const TRY = `query ($input: email_ruleInput, $ruleid: ID, $eventid: ID) { Utility { try_email_rule(input: $input, ruleid: $ruleid) {
  changes matched failed failure since has_more searched_since retention_days
  matches { eventid time operation target key }
  other_rules { ruleid name email_type matched }
  preview(eventid: $eventid) { subject html recipients queries { outvar error } error { code message } } } } }`;

const STATUSES = ['new', 'paid', 'shipped', 'lost'];

interface Tried {
  readonly changes: number;
  readonly matched: number;
  readonly failed: number;
  readonly failure: string | null;
  readonly since: string | null;
  readonly has_more: boolean;
  readonly retention_days: number;
  readonly matches: readonly { readonly eventid: string; readonly key: Json; readonly operation: string }[];
  readonly other_rules: readonly { readonly name: string; readonly matched: number }[];
  readonly preview: Json | null;
}

describe('Utility.try_email_rule', () => {
  let fixture: WebFixture;
  let shop: CreatedTenant;
  let token: string;
  let other: string;
  let root: number;
  let reader: number;
  /** What happened to orders, oldest first. */
  const changes: {
    readonly operation: string;
    readonly id: number;
    readonly before: string | null;
    readonly after: string;
  }[] = [];

  before(async function () {
    this.timeout(120_000);
    fixture = await WebFixture.start();
    shop = await fixture.createTenant('shop', TABLES);
    const stranger = await fixture.createTenant('stranger', TABLES);
    const signedIn = await fixture.signIn(shop.tenantid);
    token = signedIn.access_token;
    root = signedIn.roleid;
    other = (await fixture.signIn(stranger.tenantid)).access_token;
    for (const who of [token, other]) {
      await control(who, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
      await control(
        who,
        `mutation ($type: email_typesInput) { create_email_type(input: $type) { email_type } }`,
        {
          type: {
            email_type: 'news',
            template: '{{ records.new.status }} after {{ records.old.status }}: {{ customers }}',
            subject: 'Order {{ records.new.id }}',
            recipients: ['ada@example.com'],
            sender: 'shop@example.com',
            queries: [{ query: '{ customer { name secret } }', outvar: 'customers' }],
          },
        },
      );
    }
    reader = Number(
      textAt(
        await control(
          token,
          'mutation { create_role(input: { login: "reader", password: "a long password", capabilities: ["login"] }) { roleid } }',
        ),
        'data.create_role.roleid',
      ),
    );
    const random = new Random(SEED);
    // Others in between, of another tenant and another table.
    for (let i = 0; i < 240; i++) {
      const id = i % 8;
      const earlier = changes.findLast((change) => change.id === id);
      const after = random.pick(STATUSES);
      const done = earlier
        ? `update_orders(id: ${id}, input: { status: "${after}", total: ${i} })`
        : `create_orders(input: { id: ${id}, status: "${after}", total: ${i}, customer_id: 1 })`;
      await data(token, `mutation { ${done} { id } }`);
      changes.push({ operation: earlier ? 'update' : 'insert', id, before: earlier?.after ?? null, after });
      if (i % 20 === 0) {
        await data(other, `mutation { create_orders(input: { id: ${i}, status: "paid" }) { id } }`);
        await data(token, `mutation { create_line(input: { id: ${i}, status: "paid" }) { id } }`);
      }
    }
  });
  after(() => fixture.stop());

  async function control(who: string, document: string, variables: object = {}): Promise<GraphqlResult> {
    const result = await fixture.control(who, document, variables);
    expect(result.errors, document).to.equal(undefined);
    return result;
  }
  async function data(who: string, document: string): Promise<void> {
    const { errors } = await fixture.graphql('/query', who, document);
    expect(errors, document).to.equal(undefined);
  }
  const rule = (given: object = {}): object => ({
    name: 'tried',
    targets: ['orders'],
    operations: ['update'],
    email_type: 'news',
    query_roleid: root,
    ...given,
  });
  async function tried(input: object, more: object = {}): Promise<Tried> {
    const result = await control(token, TRY, { input, ...more });
    return at(result, 'data.Utility.try_email_rule') as Tried;
  }

  it('counts what the rule would have matched of the latest 200 changes of its kind', async () => {
    const updates = changes.filter(({ operation }) => operation === 'update').slice(-200);
    const paid = updates.filter(({ before, after }) => after === 'paid' && before !== 'paid');
    const trial = await tried(
      rule({ condition: "new.status = 'paid' and old.status is distinct from 'paid'" }),
    );
    expect([trial.changes, trial.matched, trial.failed, trial.has_more]).to.deep.equal([
      200,
      paid.length,
      0,
      true,
    ]);
    expect(paid.length).to.be.greaterThan(10);
    expect(trial.matches.map(({ key }) => at(key, 'id'))).to.deep.equal(
      paid
        .toReversed()
        .slice(0, 10)
        .map(({ id }) => id),
    );
    const all = await tried(
      rule({ operations: ['insert', 'update', 'delete'], targets: ['orders', 'line'] }),
    );
    expect([all.changes, all.matched]).to.deep.equal([200, 200]);
    const inserts = await tried(rule({ operations: ['insert'], condition: null }));
    expect([inserts.changes, inserts.matched, inserts.has_more]).to.deep.equal([8, 8, false]);
    expect(inserts.since).to.match(/^\d{4}-/);
  });

  it('says so when no change is kept', async () => {
    const none = await tried(rule({ targets: ['quiet'] }));
    expect(none).to.deep.include({
      changes: 0,
      matched: 0,
      since: null,
      has_more: false,
      matches: [],
      preview: null,
    });
    expect(none.retention_days).to.equal(30);
  });

  it('composes the email for a change as it was made, with the rights of the rule’s role', async () => {
    const condition = "old.status = 'new' and new.status = 'lost'";
    const trial = await tried(rule({ condition }));
    const [match] = trial.matches;
    expect(trial.preview).to.deep.include({ recipients: ['ada@example.com'], error: null });
    expect(textAt(trial.preview, 'subject')).to.equal(`Order ${textAt(match!.key, 'id')}`);
    expect(textAt(trial.preview, 'html')).to.include('lost after new').and.include('hush');
    const last = trial.matches.at(-1)!;
    const chosen = await tried(rule({ condition }), { eventid: last.eventid });
    expect(textAt(chosen.preview, 'subject')).to.equal(`Order ${textAt(last.key, 'id')}`);
    const poor = await tried(rule({ condition, query_roleid: reader }));
    expect(JSON.stringify(poor.preview)).not.to.include('hush');
    expect(at(poor.preview, 'error.code')).to.equal('PERMISSION_DENIED');
  });

  it('names other rules that match the same changes, and how many of them', async () => {
    const create = (given: object): Promise<GraphqlResult> =>
      control(token, 'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
        input: rule(given),
      });
    await create({ name: 'every update' });
    await create({ name: 'large', condition: 'new.total > 200' });
    await create({ name: 'lost', condition: "new.status = 'lost' and new.total > 0" });
    await create({ name: 'disabled', enabled: false });
    await create({ name: 'inserts', operations: ['insert'] });
    await create({ name: 'lines', targets: ['line'] });
    const paid = "new.status = 'paid'";
    const trial = await tried(rule({ condition: paid }));
    const late = changes.slice(-200).filter(({ after }) => after === 'paid');
    const large = changes.filter(({ after }, index) => index > 200 && after === 'paid');
    expect(trial.other_rules.map(({ name, matched }) => [name, matched])).to.deep.equal([
      ['every update', late.length],
      ['large', large.length],
    ]);
    const saved = await control(token, '{ email_rule(filter: "name = \'every update\'") { ruleid } }');
    const own = await tried({ condition: paid }, { ruleid: textAt(saved, 'data.email_rule.0.ruleid') });
    expect(own.other_rules.map(({ name }) => name)).to.deep.equal(['large']);
    expect(own.matched).to.equal(late.length);
  });

  it('reports all that is wrong with the rule at once', async () => {
    const problems = async (input: object, ruleid?: string): Promise<readonly string[]> => {
      const result = await control(
        token,
        `query ($input: email_ruleInput, $ruleid: ID) { Utility { try_email_rule(input: $input, ruleid: $ruleid) { problems { field message } } } }`,
        { input, ruleid },
      );
      return (at(result, 'data.Utility.try_email_rule.problems') as { field: string }[]).map(
        ({ field }) => field,
      );
    };
    expect(await problems(rule())).to.deep.equal([]);
    expect(await problems({})).to.have.members([
      'name',
      'operations',
      'targets',
      'email_type',
      'query_roleid',
    ]);
    expect(
      await problems(rule({ name: 'large', targets: ['nowhere'], email_type: 'none', query_roleid: 424242 })),
    ).to.have.members(['name', 'targets', 'email_type', 'query_roleid']);
    const saved = await control(token, '{ email_rule(filter: "name = \'large\'") { ruleid } }');
    const ruleid = textAt(saved, 'data.email_rule.0.ruleid');
    expect(await problems({ name: 'large', enabled: true }, ruleid), 'its own name').to.deep.equal([]);
    const wrong = await fixture.control(token, TRY, {
      input: { targets: ['nowhere'], operations: ['fly'], condition: 'new.status = ' },
    });
    expect(at(wrong, 'errors.0.extensions.fields')).to.have.members(['operations', 'targets', 'condition']);
  });

  it('reveals nothing to other roles, and nothing of other tables and tenants', async () => {
    const clerk = (await fixture.signIn(shop.tenantid, 'reader', 'a long password')).access_token;
    const denied = await fixture.control(clerk, TRY, { input: rule() });
    expect(at(denied, 'errors.0.extensions.code')).to.equal('PERMISSION_DENIED');
    const { matches } = await tried(rule());
    for (const [who, input] of [
      [other, rule({ query_roleid: undefined })],
      [token, rule({ targets: ['line'] })],
      [token, rule({ operations: ['delete'] })],
    ] as const) {
      const query_roleid =
        who === other ? at(await control(other, '{ role { roleid } }'), 'data.role.0.roleid') : root;
      const guessed = await fixture.control(who, TRY, {
        input: { ...input, query_roleid: Number(query_roleid) },
        eventid: matches[0]!.eventid,
      });
      expect(at(guessed, 'errors.0.extensions.code')).to.equal('NOT_FOUND');
    }
    const foreign = await fixture.control(other, TRY, { input: rule({ query_roleid: reader }) });
    expect(JSON.stringify(foreign)).not.to.include('hush after');
    const theirs = await fixture.control(
      other,
      `query ($input: email_ruleInput) { Utility { try_email_rule(input: $input) { changes } } }`,
      { input: rule({ operations: ['insert'] }) },
    );
    expect(at(theirs, 'data.Utility.try_email_rule.changes')).to.equal(12);
    const saved = await control(token, '{ email_rule { ruleid } }');
    const stolen = await fixture.control(other, TRY, { ruleid: textAt(saved, 'data.email_rule.0.ruleid') });
    expect(at(stolen, 'errors.0.extensions.code')).to.equal('NOT_FOUND');
  });

  it('survives events that the tenant’s own code wrote', async () => {
    await runTenantSql(fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: String.raw`
        insert into rowpost_tenant.event (roleid, operation, target, key, old, new) values
          (1, 'delete', 'orders', '{"id" : "\u0000"}', '{"id": 1, "status": "\u0000"}', null),
          (1, 'delete', 'orders', '{"id" : 1e999999}', '[]', null),
          (1, 'delete', 'orders', '"text"', '{"__proto__": {"a": 1}}', null);
        insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
          select 1, 'delete', 'orders', json_build_object('id', repeat('k', 1000000)), json_build_object('status', 'paid', 'x', repeat('x', 3000000)), null
          from generate_series(1, 5);`,
    });
    const trial = await tried(rule({ operations: ['delete'], condition: "old.status = 'paid'" }));
    expect(trial).to.deep.include({ changes: 8, matched: 5 });
    expect(trial.matches[0]).to.deep.include({ key: null });
    expect(trial.failed, trial.failure ?? '').to.be.within(0, 2);
  });
});

import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import { KeyRing } from '../../src/config/secrets.js';
import { TEST_SECRET_KEYS } from '../support/testConfig.js';
import { at, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const SET_KEY = 'mutation ($key: String!) { set_email_apikey(apikey: $key) { apikey } }';
const CREATE_TYPE = `mutation ($input: email_typesInput) { create_email_type(input: $input) {
  email_type template subject recipients sender syntax
  queries { query filter ordering limit offset outvar } options { cc bcc } } }`;
const UPDATE_TYPE = `mutation ($id: ID!, $input: email_typesInput) { update_email_type(email_type: $id, input: $input) {
  email_type subject recipients } }`;
const DELETE_TYPE = 'mutation ($id: ID!) { delete_email_type(email_type: $id) { email_type } }';
const CREATE_RULE = `mutation ($input: email_ruleInput) { create_email_rule(input: $input) {
  operations targets email_type query_roleid name ruleid condition enabled delivery } }`;
const UPDATE_RULE =
  'mutation ($id: ID!, $input: email_ruleInput) { update_email_rule(ruleid: $id, input: $input) { name enabled condition } }';

const QUERY =
  'query ($filter: String, $ordering: [String], $limit: Int, $offset: Int) { orders(filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) { id customer { name } } }';

describe('roles_pbac: email settings', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  let clerk: { roleid: number; token: string };

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'shop',
      `create table customer (id int primary key, name text, email text);
       create table orders (id int primary key, status text, customer_id int references customer);
       create view paid_orders as select * from orders where status = 'paid';
       create table visit (page text);`,
    );
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    clerk = await fixture.createMember(root, 'clerk', ['select']);
  });
  after(() => fixture.stop());

  const errorOf = (result: GraphqlResult): Json => result.errors?.[0]?.extensions ?? {};
  const codeOf = (result: GraphqlResult): unknown => errorOf(result)['code'];
  const type = (changes: Json = {}): Json => ({
    email_type: 'confirmation',
    template: "<p>Hello {{ records['new']['id'] }}</p>",
    subject: 'Order {{ records.new.id }}',
    recipients: ['{{ orders[0].customer.email }}', 'copy@example.com'],
    sender: 'Shop <shop@example.com>',
    queries: [{ query: QUERY, filter: 'id = {{ records.new.id }}', outvar: 'orders' }],
    options: { cc: ['cc@example.com'] },
    ...changes,
  });
  const rule = (changes: Json = {}): Json => ({
    operations: ['insert', 'update'],
    targets: ['orders'],
    email_type: 'confirmation',
    query_roleid: clerk.roleid,
    name: 'confirm',
    ...changes,
  });
  const createType = (changes: Json = {}): Promise<GraphqlResult> =>
    fixture.control(root, CREATE_TYPE, { input: type(changes) });
  const createRule = (changes: Json = {}): Promise<GraphqlResult> =>
    fixture.control(root, CREATE_RULE, { input: rule(changes) });

  describe('set_email_apikey', () => {
    it('is required before any other email setting', async () => {
      expect(codeOf(await createType())).to.equal('EMAIL_APIKEY_MISSING');
      expect(codeOf(await createRule())).to.equal('EMAIL_APIKEY_MISSING');
    });

    it('echoes the key, stores it encrypted for this tenant, and increments the version', async () => {
      const first = await fixture.control(root, SET_KEY, { key: 'SG.first-key' });
      expect(first.data).to.deep.equal({ set_email_apikey: { apikey: 'SG.first-key' } });
      const second = await fixture.control(
        root,
        'mutation { Utility { set_email_apikey(apikey: "SG.second-key") { apikey } } }',
      );
      expect(second.data).to.deep.equal({ Utility: { set_email_apikey: { apikey: 'SG.second-key' } } });
      const { rows } = await fixture.testDatabase.database.pool.query<{
        apikey_encrypted: string;
        version: number;
      }>('select * from rowpost.email_apikey');
      expect(rows).to.have.length(1);
      expect(rows[0]?.version).to.equal(2);
      expect(JSON.stringify(rows)).to.not.include('second-key');
      const plain = KeyRing.parse(TEST_SECRET_KEYS).decrypt(
        rows[0]?.apikey_encrypted ?? '',
        `email_apikey:${tenant.tenantid}`,
      );
      expect(plain).to.equal('SG.second-key');
    });

    it('resumes deliveries that the old key held up', async () => {
      const { pool } = fixture.testDatabase.database;
      await pool.query(
        `update rowpost.email_apikey set paused_code = 'PROVIDER_KEY_REFUSED', paused_reason = 'refused'`,
      );
      await pool.query(
        `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state, createtime, tracked)
         values ($1, 1, 1, 'confirmation', 'insert', 'orders', '{"id": 1}', 'at_least_once', 'paused', now(), true)`,
        [tenant.tenantid],
      );
      await fixture.control(root, SET_KEY, { key: 'SG.third-key' });
      const { rows } = await pool.query('select paused_code from rowpost.email_apikey');
      expect(rows).to.deep.equal([{ paused_code: null }]);
      expect((await fixture.control(root, '{ email_delivery { state } }')).data).to.deep.equal({
        email_delivery: [{ state: 'pending' }],
      });
    });

    it('rejects invalid keys', async () => {
      for (const key of ['', 'two words', 'line\nbreak', 'schlüssel', 'k'.repeat(1_001)]) {
        expect(codeOf(await fixture.control(root, SET_KEY, { key })), key).to.equal('BAD_USER_INPUT');
      }
    });
  });

  describe('email_types', () => {
    it('is returned as given, by the mutation and by the list', async () => {
      const made = await createType();
      expect(made.errors).to.equal(undefined);
      const expected = {
        ...type(),
        syntax: 'jinja2',
        queries: [
          {
            query: QUERY,
            filter: 'id = {{ records.new.id }}',
            ordering: null,
            limit: null,
            offset: null,
            outvar: 'orders',
          },
        ],
        options: { cc: ['cc@example.com'], bcc: null },
      };
      expect(made.data).to.deep.equal({ create_email_type: expected });
      const list = await fixture.control(
        root,
        `{ email_types { email_type template subject recipients sender syntax
           all: queries { query filter ordering limit offset name: outvar } options { cc bcc } } }`,
      );
      expect(at(list, 'data.email_types.0.all.0.name')).to.equal('orders');
      expect(at(list, 'data.email_types.0.recipients')).to.deep.equal(type()['recipients']);
      expect(at(list, 'data.email_types.0.options')).to.deep.equal(expected.options);
    });

    it('accepts recipients as a JSON list in a string, and returns them that way', async () => {
      const recipients = '["{{ records.new.email }}", "second@example.com"]';
      const made = await createType({ email_type: 'json_list', recipients, options: { bcc: recipients } });
      expect(at(made, 'data.create_email_type.recipients')).to.equal(recipients);
      expect(at(made, 'data.create_email_type.options')).to.deep.equal({ cc: null, bcc: recipients });
      const plain = await createType({
        email_type: 'one',
        recipients: 'only@example.com',
        options: null,
        queries: null,
      });
      expect(at(plain, 'data.create_email_type.recipients')).to.deep.equal(['only@example.com']);
      expect(at(plain, 'data.create_email_type.queries')).to.deep.equal([]);
    });

    it('is validated template by template: field, line, column and hint', async () => {
      const cases: [Json, string][] = [
        [{ template: '<p>\n{% if x %}' }, 'template'],
        [{ subject: '{{ x' }, 'subject'],
        [{ sender: '{% endfor %}' }, 'sender'],
        [{ recipients: ['a@example.com', '{{ }}'] }, 'recipients[1]'],
        [{ recipients: '["{{ }}"]' }, 'recipients'],
        [{ options: { cc: ['{{ x | }}'] } }, 'options.cc[0]'],
        [{ options: { bcc: ['{{ x | }}'] } }, 'options.bcc[0]'],
        [{ queries: [{ query: QUERY, filter: 'id = {{ ', outvar: 'o' }] }, 'queries[0].filter'],
      ];
      for (const [changes, field] of cases) {
        const error = errorOf(await createType({ email_type: 'bad', ...changes }));
        expect(error, JSON.stringify(changes)).to.include({ code: 'TEMPLATE_SYNTAX', field });
        expect(error['line']).to.be.a('number');
        expect(error['column']).to.be.a('number');
        expect(error['hint']).to.be.a('string').and.not.equal('');
      }
      const liquid = errorOf(await createType({ email_type: 'bad', template: '{% elsif x %}' }));
      expect(liquid['line']).to.equal(1);
    });

    it('is validated query by query', async () => {
      const query = async (text: string, more: Json = {}): Promise<Json> =>
        errorOf(await createType({ email_type: 'bad', queries: [{ query: text, outvar: 'o', ...more }] }));
      expect(await query('{ no_table { id } }')).to.include({
        code: 'EMAIL_QUERY_INVALID',
        field: 'queries[0].query',
        line: 1,
      });
      expect(await query('{ orders { ')).to.include({
        code: 'EMAIL_QUERY_INVALID',
        field: 'queries[0].query',
      });
      const templated = await query('{ orders(filter: "id = {{ records.new.id }}") { id } }');
      expect(templated).to.include({ code: 'EMAIL_QUERY_INVALID', field: 'queries[0].query' });
      expect(templated['hint']).to.match(/^The query is no template, its filter is/);
      const filters: [filter: string, code: string, column: number][] = [
        ['id == 1', 'FILTER_SYNTAX', 4],
        ['records.new.id = id', 'FILTER_UNKNOWN_COLUMN', 1],
        ['idd = {{ records.new.id }}', 'FILTER_UNKNOWN_COLUMN', 1],
      ];
      for (const [filter, code, column] of filters) {
        expect(await query(QUERY, { filter }), filter).to.include({
          code,
          field: 'queries[0].filter',
          line: 1,
          column,
        });
      }
      expect(await query('mutation { delete_orders(id: 1) { id } }')).to.include({
        code: 'EMAIL_QUERY_INVALID',
      });
      expect(await query(QUERY, { ordering: ['id sideways'] })).to.include({
        code: 'ORDERING_INVALID',
        field: 'queries[0].ordering',
      });
      expect(await query(QUERY, { outvar: 'records' })).to.include({
        code: 'BAD_USER_INPUT',
        field: 'queries[0].outvar',
      });
      expect(await query(QUERY, { outvar: 'two words' })).to.include({ code: 'BAD_USER_INPUT' });
    });

    it('has a single sender address, unless a template renders it', async () => {
      for (const sender of ['Shop', 'a@example.com, b@example.com', 'Shop <shop>', 'shop@', ' ']) {
        const error = errorOf(await createType({ email_type: 'sent', sender }));
        expect(error, sender).to.include({ code: 'BAD_USER_INPUT', field: 'sender' });
      }
      for (const sender of ['shop@example.com', 'Shop <shop@example.com>', '{{ sender }}']) {
        const made = await createType({ email_type: 'sent', sender });
        expect(made.errors, sender).to.equal(undefined);
        const bad = await fixture.control(root, UPDATE_TYPE, { id: 'sent', input: { sender: 'Shop' } });
        expect(errorOf(bad), sender).to.include({ code: 'BAD_USER_INPUT', field: 'sender' });
        await fixture.control(root, DELETE_TYPE, { id: 'sent' });
      }
    });

    it('reports missing fields', async () => {
      for (const field of ['email_type', 'template', 'subject', 'sender', 'recipients']) {
        expect(errorOf(await createType({ [field]: null })), field).to.include({
          code: 'BAD_USER_INPUT',
          field,
        });
      }
      expect(codeOf(await fixture.control(root, CREATE_TYPE))).to.equal('BAD_USER_INPUT');
      expect(codeOf(await createType({ syntax: 'mustache' }))).to.equal('BAD_USER_INPUT');
      expect(codeOf(await createType())).to.equal('NAME_TAKEN');
      expect(codeOf(await createType({ subject: 5 }))).to.equal('BAD_USER_INPUT');
    });

    it('is updated partially, renamed while no rule uses it, and revalidated', async () => {
      await createType({ email_type: 'draft' });
      const updated = await fixture.control(root, UPDATE_TYPE, {
        id: 'draft',
        input: { subject: 'New', email_type: 'final' },
      });
      expect(updated.data).to.deep.equal({
        update_email_type: { email_type: 'final', subject: 'New', recipients: type()['recipients'] },
      });
      const bad = await fixture.control(root, UPDATE_TYPE, { id: 'final', input: { template: '{{' } });
      expect(codeOf(bad)).to.equal('TEMPLATE_SYNTAX');
      expect(codeOf(await fixture.control(root, UPDATE_TYPE, { id: 'draft', input: {} }))).to.equal(
        'NOT_FOUND',
      );
    });
  });

  describe('email_rule', () => {
    it('is refused with all that is wrong with it, first as before', async () => {
      const { errors } = await fixture.control(root, CREATE_RULE, {
        input: {
          operations: ['nothing'],
          targets: ['nowhere'],
          email_type: 'unknown',
          condition: 'new.x = ',
        },
      });
      expect(errors).to.have.length(1);
      const { message, extensions } = errors![0]!;
      const fields = extensions['fields'] as string[];
      const messages = extensions['messages'] as string[];
      expect(fields).to.include.members(['name', 'operations', 'query_roleid', 'targets', 'email_type']);
      expect([message, extensions.code, extensions['field']]).to.deep.equal([
        messages[0],
        'BAD_USER_INPUT',
        fields[0],
      ]);
      expect(messages).to.have.length(fields.length);
      expect(extensions['hints']).to.have.length(fields.length);
    });

    it('is created with its defaults, ruleid a string', async () => {
      const made = await createRule();
      expect(made.errors).to.equal(undefined);
      const created = at(made, 'data.create_email_rule') as Json;
      expect(created).to.deep.include({
        ...rule(),
        condition: null,
        enabled: true,
        delivery: 'at_least_once',
      });
      expect(created['ruleid']).to.be.a('string');
      const list = await fixture.control(
        root,
        `{ email_rule(filter: "name = 'confirm'") { ruleid operations } }`,
      );
      expect(list.data).to.deep.equal({
        email_rule: [{ ruleid: created['ruleid'], operations: ['insert', 'update'] }],
      });
    });

    it('reports invalid fields when saved', async () => {
      const cases: [Json, string][] = [
        [{ operations: [] }, 'BAD_USER_INPUT'],
        [{ operations: ['insert', 'truncate'] }, 'EMAIL_OPERATION_UNKNOWN'],
        [{ targets: ['no_table'] }, 'UNKNOWN_TABLE'],
        [{ targets: [] }, 'BAD_USER_INPUT'],
        [{ email_type: 'no_type' }, 'EMAIL_TYPE_NOT_FOUND'],
        [{ query_roleid: 999_999 }, 'UNKNOWN_ROLE'],
        [{ query_roleid: null }, 'BAD_USER_INPUT'],
        [{ condition: 'new.status = ' }, 'FILTER_SYNTAX'],
        [{ condition: "new.no_column = 'x'" }, 'FILTER_UNKNOWN_COLUMN'],
        [{ delivery: 'exactly_once' }, 'BAD_USER_INPUT'],
        [{}, 'NAME_TAKEN'],
      ];
      for (const [changes, code] of cases) {
        expect(codeOf(await createRule(changes)), JSON.stringify(changes)).to.equal(code);
      }
      const condition = "new.status = 'paid' and old.status != 'paid' and new.customer.name != null";
      expect(codeOf(await createRule({ name: 'paid', condition, delivery: 'at_most_once' }))).to.equal(
        undefined,
      );
    });

    it('applies to writable tables: no views, and none without a primary key', async () => {
      for (const [target, reason] of [
        ['paid_orders', 'is a view'],
        ['visit', 'has no primary key'],
      ] as const) {
        const refused = await createRule({ name: 'never', targets: ['orders', target] });
        expect(errorOf(refused)).to.include({ code: 'READ_ONLY_TABLE', field: 'targets', target });
        expect(refused.errors?.[0]?.message).to.include(`${target} ${reason}`);
      }
    });

    it('can be disabled when its table is gone, but not enabled again', async () => {
      const { database } = fixture.testDatabase;
      const { tenantid } = tenant;
      await runTenantSql(database, { tenantid, sql: 'create table parcel (id int primary key)' });
      await fixture.control(root, '{ Utility { introspect } }');
      const made = await createRule({ name: 'parcels', targets: ['parcel'] });
      const id = textAt(made, 'data.create_email_rule.ruleid');
      await runTenantSql(database, { tenantid, sql: 'drop table parcel' });
      await fixture.control(root, '{ Utility { introspect } }');
      const update = async (input: Json): Promise<unknown> =>
        codeOf(await fixture.control(root, UPDATE_RULE, { id, input }));
      expect(await update({ enabled: false })).to.equal(undefined);
      expect(await update({ enabled: true })).to.equal('UNKNOWN_TABLE');
      expect(await update({ targets: ['parcel', 'orders'] })).to.equal('UNKNOWN_TABLE');
      await fixture.control(root, 'mutation ($id: ID!) { delete_email_rule(ruleid: $id) { name } }', { id });
    });

    it('is updated partially, and prevents its email type from being deleted or renamed', async () => {
      const id = textAt(
        await fixture.control(root, `{ email_rule(filter: "name = 'confirm'") { ruleid } }`),
        'data.email_rule.0.ruleid',
      );
      const updated = await fixture.control(root, UPDATE_RULE, { id, input: { enabled: false } });
      expect(updated.data).to.deep.equal({
        update_email_rule: { name: 'confirm', enabled: false, condition: null },
      });
      expect(codeOf(await fixture.control(root, DELETE_TYPE, { id: 'confirmation' }))).to.equal(
        'EMAIL_TYPE_IN_USE',
      );
      const renamed = await fixture.control(root, UPDATE_TYPE, {
        id: 'confirmation',
        input: { email_type: 'other' },
      });
      expect(codeOf(renamed)).to.equal('EMAIL_TYPE_IN_USE');
      expect(codeOf(await fixture.control(root, UPDATE_RULE, { id: 'x', input: {} }))).to.equal('NOT_FOUND');
      await fixture.control(root, 'mutation ($id: ID!) { delete_email_rule(ruleid: $id) { name } }', { id });
      await fixture.control(
        root,
        `mutation { delete_email_rule(ruleid: "${textAt(await fixture.control(root, '{ email_rule { ruleid } }'), 'data.email_rule.0.ruleid')}") { name } }`,
      );
      expect((await fixture.control(root, DELETE_TYPE, { id: 'confirmation' })).data).to.deep.equal({
        delete_email_type: { email_type: 'confirmation' },
      });
    });
  });

  describe('email_delivery', () => {
    let failed: string;
    before(async () => {
      const { pool } = fixture.testDatabase.database;
      await pool.query('delete from rowpost.delivery');
      const { rows } = await pool.query<{ deliveryid: string }>(
        `insert into rowpost.delivery (tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state, attempts, starts, createtime, tracked)
         select $1, n, 1, 'confirmation', 'insert', 'orders', '{"id": 1}', 'at_least_once', s, 1, 1, now(), true
         from unnest(array['failed', 'sent', 'pending']) with ordinality as x(s, n) order by n returning deliveryid`,
        [tenant.tenantid],
      );
      failed = rows[0]?.deliveryid ?? '';
      await pool.query(
        `insert into rowpost.email_attempt (tenantid, deliveryid, attempt, started, finished, outcome, http_status, error, createtime)
         select tenantid, deliveryid, 1, now(), now(), 'failed', 400, 'refused', createtime from rowpost.email_delivery where state = 'failed'`,
      );
    });

    it('is listed with its attempts', async () => {
      const { data, errors } = await fixture.control(
        root,
        `{ email_delivery(filter: "state = 'failed'") { deliveryid ruleid key state attempts recipients
           email_attempt_collection(ordering: "attempt") { attempt outcome http_status error } } }`,
      );
      expect(errors).to.equal(undefined);
      expect(data).to.deep.equal({
        email_delivery: [
          {
            deliveryid: failed,
            ruleid: '1',
            key: { id: 1 },
            state: 'failed',
            attempts: 1,
            recipients: null,
            email_attempt_collection: [{ attempt: 1, outcome: 'failed', http_status: 400, error: 'refused' }],
          },
        ],
      });
    });

    it('is redriven once ended, singly or by a filter, which never includes sent ones', async () => {
      const many = 'mutation ($filter: String) { Utility { redrive_email_deliveries(filter: $filter) } }';
      expect(codeOf(await fixture.control(root, many, { filter: 'nothing = 1' }))).to.equal(
        'FILTER_UNKNOWN_COLUMN',
      );
      expect((await fixture.control(root, many, { filter: 'attempts > 5' })).data).to.deep.equal({
        Utility: { redrive_email_deliveries: 0 },
      });
      expect((await fixture.control(root, many, { filter: "target = 'orders'" })).data).to.deep.equal({
        Utility: { redrive_email_deliveries: 1 },
      });
      const one =
        'mutation ($id: ID!) { Utility { redrive_email_delivery(deliveryid: $id) { state email_attempt_collection { outcome } } } }';
      expect(codeOf(await fixture.control(root, one, { id: failed }))).to.equal('REDRIVE_NOT_ALLOWED');
      const sent = textAt(
        await fixture.control(root, `{ email_delivery(filter: "state = 'sent'") { deliveryid } }`),
        'data.email_delivery.0.deliveryid',
      );
      expect((await fixture.control(root, one, { id: sent })).data).to.deep.equal({
        Utility: {
          redrive_email_delivery: { state: 'pending', email_attempt_collection: [{ outcome: 'redriven' }] },
        },
      });
      expect(codeOf(await fixture.control(root, one, { id: '999999' }))).to.equal('NOT_FOUND');
    });
  });

  describe('all settings', () => {
    it('is for root and admins of the tenant, and of no other', async () => {
      const other = await fixture.createTenant('other', 'create table orders (id int primary key)');
      const stranger = (await fixture.signIn(other.tenantid)).access_token;
      const admin = await fixture.createMember(root, 'deputy', ['admin']);
      const requests = [
        '{ email_types { email_type } }',
        '{ email_rule { ruleid } }',
        '{ email_delivery { deliveryid } }',
        'mutation { set_email_apikey(apikey: "x") { apikey } }',
        'mutation { create_email_type(input: {}) { email_type } }',
        'mutation { create_email_rule(input: {}) { name } }',
        'mutation { Utility { redrive_email_deliveries } }',
      ];
      for (const request of requests) {
        expect(codeOf(await fixture.control(clerk.token, request)), request).to.equal('PERMISSION_DENIED');
        expect(codeOf(await fixture.control(admin.token, request)), request).to.not.equal(
          'PERMISSION_DENIED',
        );
      }
      for (const field of [
        'email_types { email_type }',
        'email_rule { ruleid }',
        'email_delivery { deliveryid }',
      ]) {
        const { data } = await fixture.control(stranger, `{ list: ${field} }`);
        expect(data).to.deep.equal({ list: [] });
      }
      expect(
        codeOf(await fixture.control(stranger, UPDATE_TYPE, { id: 'one', input: { subject: 'x' } })),
      ).to.equal('NOT_FOUND');
    });
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { tenant as tenantCommand } from '../../../src/commands/tenant.js';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { WebFixture, type Json } from '../../api/webFixture.js';
import { capturedOutput } from '../../support/capturedOutput.js';
import { runRowpost } from '../../support/rowpostProcess.js';
import { testEnv } from '../../support/testConfig.js';

const TABLES = `
  create table customer (id int primary key, name text, country text);
  create table orders (id int primary key, status text, total int, scan text, note text, customer_id int references customer);
  create table parcel (id int primary key, weight int);
  create table stock (id int primary key, amount int);`;
const ORDERS =
  'query ($filter: String, $ordering: [String]) { orders(filter: $filter, ordering: $ordering) { id status } }';

describe('rowpost tenant sql: the problems it prints', () => {
  let fixture: WebFixture;
  let folder: string;
  let environment: NodeJS.ProcessEnv;
  let tenant: CreatedTenant;
  let root: string;
  let count = 0;

  before(async () => {
    fixture = await WebFixture.start();
    folder = await mkdtemp(path.join(tmpdir(), 'tenant-sql-'));
    environment = { ...process.env };
    Object.assign(process.env, testEnv({ DATABASE_URL: fixture.testDatabase.url }));
  });
  beforeEach(async () => {
    tenant = await fixture.createTenant(`shop ${(count += 1)}`, TABLES);
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await save('mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
  });
  after(async () => {
    process.env = environment;
    await fixture.stop();
    await rm(folder, { recursive: true });
  });

  async function save(document: string, input?: Json): Promise<void> {
    expect((await fixture.control(root, document, { input })).errors).to.equal(undefined);
  }
  const emailType = (name: string, changes: Json = {}): Promise<void> =>
    save('mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }', {
      email_type: name,
      template: 'T',
      subject: 'S',
      recipients: ['a@example.com'],
      sender: 'shop@example.com',
      ...changes,
    });
  const emailRule = (name: string, changes: Json = {}): Promise<void> =>
    save('mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }', {
      name,
      operations: ['update'],
      targets: ['orders'],
      email_type: 'plain',
      query_roleid: tenant.rootRoleid,
      ...changes,
    });
  const policyRule = (name: string, changes: Json = {}): Promise<void> =>
    save('mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }', {
      name,
      capabilities: ['select'],
      targets: ['orders'],
      ...changes,
    });

  /** Runs the command in this process. @returns the problems that it printed */
  async function problemsOf(sql: string): Promise<readonly string[]> {
    const file = path.join(folder, 'script.sql');
    await writeFile(file, sql);
    const printed = await capturedOutput(() =>
      tenantCommand(['sql', '--tenant', String(tenant.tenantid), '-f', file]),
    );
    return (JSON.parse(printed) as { problems: readonly string[] }).problems;
  }

  it('are found in a script from stdin', async () => {
    await emailType('plain');
    await emailRule('stocked', { targets: ['stock'] });
    const { code, stdout, stderr } = await runRowpost(
      ['tenant', 'sql', '--tenant', String(tenant.tenantid), '-f', '-'],
      testEnv({ DATABASE_URL: fixture.testDatabase.url }),
      'drop table stock;',
    );
    expect(code, stderr).to.equal(0);
    expect((JSON.parse(stdout) as { problems: readonly string[] }).problems).to.have.length(1);
  });

  it('name each setting with what it refers to and is gone', async () => {
    await emailType('plain');
    await emailType('confirmation', {
      queries: [{ query: ORDERS, filter: 'id = {{ records.new.id }}', outvar: 'orders' }],
    });
    await emailType('overview', {
      queries: [
        { query: '{ parcel { id } }', outvar: 'parcels' },
        { query: ORDERS.replace(' status', ''), filter: 'total > 3', ordering: ['id'], outvar: 'large' },
        { query: ORDERS.replace(' status', ''), filter: "note = '{{ target }}' and id = 1", outvar: 'noted' },
        { query: ORDERS.replace(' status', ''), ordering: ['total desc'], outvar: 'sorted' },
      ],
    });
    await emailType('scanned', { attachments: ['scan', 'file'] });
    await emailRule('scans', { email_type: 'scanned' });
    await emailRule('paid orders', { condition: "new.status = 'paid'" });
    await emailRule('off', { condition: "new.status = 'off'", enabled: false });
    await emailRule('parcels', { targets: ['orders', 'parcel'] });
    await emailRule('stocked', { targets: ['stock'] });
    await policyRule('own country', { filter: "customer.country = 'NL' and 1 = $_PRINCIPAL.roleid" });
    await policyRule('parcels', { targets: ['parcel', 'customer'] });
    expect(await problemsOf('select 1')).to.deep.equal([]);

    const problems = await problemsOf(`
      alter table orders drop column status, drop column total, drop column scan, drop column note;
      alter table customer rename column country to land;
      drop table parcel;
      alter table stock drop constraint stock_pkey;`);
    expect(problems).to.deep.equal([
      'email type "confirmation", queries[0]: Cannot query field "status" on type "orders".',
      'email type "overview", queries[0]: Cannot query field "parcel" on type "Query".',
      'email type "overview", queries[1]: "orders" has no column "total" (line 1, column 1)',
      'email type "overview", queries[2]: "orders" has no column "note" (line 1, column 1)',
      'email type "overview", queries[3]: "orders" has no column "total" (line 1, column 1)',
      'email rule "paid orders": "orders" has no column "status" (line 1, column 1)',
      'email rule "parcels": There is no table "parcel".',
      'email rule "stocked": stock has no primary key: nothing is written to it, so the rule would never fire.',
      'email type "scanned", attachments: "orders" has no column "scan", and no query is named so.',
      'policy rule "own country": "customer" has no column "country" (line 1, column 1)',
      'policy rule "parcels": There is no table "parcel".',
    ]);
  });

  it('disappear when the tables fit again', async () => {
    await emailType('plain');
    await emailRule('paid', { condition: "new.status = 'paid'" });
    expect(await problemsOf('alter table orders rename column status to state')).to.have.length(1);
    expect(await problemsOf('alter table orders rename column state to status')).to.deep.equal([]);
  });

  it('are limited to this tenant, and to fifty', async () => {
    await emailType('plain');
    const { pool } = fixture.testDatabase.database;
    await pool.query(
      `insert into rowpost.email_rule (tenantid, name, operations, targets, email_type, query_roleid, enabled, delivery)
       select $1, 'rule ' || i, '{insert}', '{parcel}', 'plain', $2, true, 'at_least_once' from generate_series(1, 60) i`,
      [tenant.tenantid, tenant.rootRoleid],
    );
    const problems = await problemsOf('drop table parcel');
    expect(problems).to.have.length(51);
    expect(problems[0]).to.equal('email rule "rule 1": There is no table "parcel".');
    expect(problems[50]).to.equal('10 more');
    tenant = await fixture.createTenant(`other ${count}`, TABLES);
    expect(await problemsOf('drop table parcel')).to.deep.equal([]);
  });

  it('ignore filters known only at rendering', async () => {
    await emailType('plain', {
      queries: [
        { query: ORDERS, filter: '{% if operation == "x" %}gone = 1{% endif %}', outvar: 'a' },
        { query: ORDERS, filter: '{{ target }}_id = 3', outvar: 'b' },
        { query: ORDERS, filter: 'id in [{{ records.new.id }}]', outvar: 'c' },
        { query: ORDERS, filter: "status = '{{ target }}' {{ operation }}", outvar: 'd' },
      ],
    });
    expect(await problemsOf('select 1')).to.deep.equal([]);
  });
});

import { expect } from 'chai';
import { createLogger } from '../../../src/foundation/observability/log.js';
import { FAILURES_PER_SECOND } from '../../../src/foundation/observability/logThrottle.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { WebFixture, type GraphqlResult } from '../../api/webFixture.js';

/** A trigger function that fails with a message of almost a megabyte. */
const failing = (name: string, statement: string): string => `
  create table ${name} (id int primary key);
  create function fail_${name}() returns trigger language plpgsql as $$ begin ${statement}; end $$;
  create trigger fail before insert on ${name} for each row execute function fail_${name}();`;
const CREATE_RULE = 'mutation ($rule: policy_ruleInput!) { create_policy_rule(input: $rule) { ruleid } }';
const TEXT = `repeat('secret', 150000)`;

describe('attack: errors that a tenant raises to fill the log', () => {
  let fixture: WebFixture;
  let token: string;
  let tenantid: number;
  const lines: string[] = [];
  before(async () => {
    const log = createLogger('info', 'test', { write: (line) => void lines.push(line) });
    fixture = await WebFixture.start({ log });
    ({ tenantid } = await fixture.createTenant(
      'hostile',
      'create table ruled (id int primary key, gone int);' +
        // It can't be told from an error within the server.
        'create table unexplained (id int primary key check (amvalidate(id::oid)));' +
        failing('raised', `raise exception using errcode = 'XX001', message = ${TEXT}`) +
        failing('asserted', `assert false, ${TEXT}`),
    ));
    ({ access_token: token } = await fixture.signIn(tenantid));
  });
  after(() => fixture.stop());
  beforeEach(() => lines.splice(0));

  const insert = (table: string): Promise<GraphqlResult> =>
    fixture.graphql('/query', token, `mutation { create_${table}(input: { id: 1 }) { id } }`);

  for (const table of ['raised', 'asserted'])
    it(`are its own, whatever error code it raises: the log has nothing of them (${table})`, async () => {
      const { errors } = await insert(table);
      expect(errors?.[0]?.extensions.code).to.equal('CHECK_VIOLATION');
      expect(lines.join('')).to.not.include('secret').and.not.include('internal');
    });

  it('are one line for a broken policy rule, however often a document names its table', async () => {
    const rule = { name: 'r', capabilities: ['select'], targets: ['ruled'], filter: 'gone = 1' };
    const created = await fixture.control(token, CREATE_RULE, { rule });
    expect(created.errors).to.equal(undefined);
    const member = await fixture.createMember(token, 'member', ['login', 'select']);
    await runTenantSql(fixture.testDatabase.database, {
      tenantid,
      sql: 'alter table ruled drop column gone',
    });
    const names = Array.from({ length: 100 }, (_, index) => `f${index}: ruled { id }`);
    await fixture.graphql('/query', member.token, `{ ${names.join(' ')} }`);
    expect(lines.filter((line) => line.includes('does not compile'))).to.have.length(1);
  });

  it('are limited to its share of the lines, if they may be errors of the service', async () => {
    const { errors } = await insert('unexplained');
    expect(errors?.[0]?.extensions.code).to.equal('INTERNAL_ERROR');
    expect(lines.join('').length).to.be.within(1_000, 20_000);
    lines.splice(0);
    const startedAtMs = Date.now();
    const flood = Array.from({ length: 10 }, async () => {
      for (let sent = 0; sent < 20; sent++) await insert('unexplained');
    });
    await Promise.all(flood);
    const seconds = Math.ceil((Date.now() - startedAtMs) / 1000) + 1;
    const logged = lines.filter((line) => line.includes('a request failed'));
    expect(logged.length).to.be.within(1, (seconds * FAILURES_PER_SECOND) / 2);
  });
});

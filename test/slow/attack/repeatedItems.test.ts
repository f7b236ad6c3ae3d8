import { expect } from 'chai';
import { at, textAt, WebFixture } from '../../api/webFixture.js';
import { cpuTimer } from '../../support/cpuTime.js';

/**
 * Each role's classes, rules and children are read again every second, by one of the service's few connections. Lists that repeat
 * an item, and long ones, made that take seconds, or stopped the event loop.
 */
describe('attack: roles and rules with very long lists', function () {
  let fixture: WebFixture;
  let root: string;
  let tenantid: number;
  let classid: number;
  let member: { readonly roleid: number; readonly token: string };

  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('hostile', 'create table t (a int primary key)'));
    root = (await fixture.signIn(tenantid)).access_token;
    member = await fixture.createMember(root, 'member', ['login', 'select']);
    const made = await fixture.control(
      root,
      'mutation { create_role_class(input: { name: "a" }) { classid } }',
    );
    classid = Number(textAt(made, 'data.create_role_class.classid'));
  });
  after(() => fixture.stop());

  const repeated = <T>(item: T): T[] => Array.from({ length: 50_000 }, () => item);
  const run = (sql: string): Promise<unknown> => {
    const { database } = fixture.testDatabase;
    return database.pool.query(`set statement_timeout = 0; ${sql}; reset statement_timeout`);
  };
  const loadMs = async (): Promise<number> => {
    const cpuMs = cpuTimer();
    await fixture.principals.reload(tenantid, member.roleid);
    return cpuMs();
  };

  it('keep each item of a list once', async () => {
    const input = {
      name: 'rule',
      targets: repeated('t'),
      capabilities: repeated('select'),
      roles: repeated(member.roleid),
      classes: repeated(classid),
    };
    const rule = await fixture.control(
      root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { targets capabilities roles classes } }',
      { input },
    );
    expect(at(rule, 'data.create_policy_rule')).to.deep.equal({
      targets: ['t'],
      capabilities: ['select'],
      roles: [member.roleid],
      classes: [classid],
    });
    const changed = await fixture.control(
      root,
      `mutation ($classes: [Int]) { update_role(roleid: ${member.roleid}, input: { classes: $classes }) { name } }`,
      { classes: repeated(classid) },
    );
    expect(changed.errors).to.equal(undefined);
    const principal = await fixture.principals.reload(tenantid, member.roleid);
    expect(principal?.classes).to.deep.equal([classid]);
    expect(principal?.rules).to.have.length(1);
  });

  it('are read in time with the length of the lists, not with their product', async () => {
    await run(`
      insert into rowpost.role_class (tenantid, name, inherit) select ${tenantid}, 'c' || n, 'full' from generate_series(1, 9990) n;
      update rowpost.role set classes = array(select classid from rowpost.role_class where tenantid = ${tenantid} and classid > ${classid})
        where tenantid = ${tenantid};
      insert into rowpost.policy_rule (tenantid, name, capabilities, targets, classes)
        select ${tenantid}, 'r' || n, '{select}', '{t}', array(select ${classid} + 20000 + m from generate_series(1, 1000) m)
        from generate_series(1, 150) n`);
    expect(await loadMs()).to.be.below(5_000);
    const more = await fixture.control(
      root,
      'mutation { create_role_class(input: { name: "b" }) { classid } }',
    );
    expect(more.errors, 'of 9,992').to.equal(undefined);
    await run(
      `insert into rowpost.role_class (tenantid, name) select ${tenantid}, 'd' || n from generate_series(1, 10) n`,
    );
    const refused = await fixture.control(
      root,
      'mutation { create_role_class(input: { name: "x" }) { name } }',
    );
    expect(refused.errors?.[0]?.message).to.equal('A tenant has at most 10000 classes.');
  });

  it('leave the ids of the roles below one as PostgreSQL writes them: parsing a million stops the event loop', async () => {
    await run(`
      alter table rowpost.role disable trigger user;
      insert into rowpost.role (tenantid, parentid) select ${tenantid}, ${member.roleid} from generate_series(1, 10000);
      alter table rowpost.role enable trigger user`);
    const principal = await fixture.principals.reload(tenantid, member.roleid);
    expect(principal?.children)
      .to.be.a('string')
      .that.matches(/^\{\d+(,\d+){9999}\}$/);
    const identities = await fixture.control(member.token, '{ role_oidc { roleid } }');
    expect(identities.errors).to.equal(undefined);
  });
});

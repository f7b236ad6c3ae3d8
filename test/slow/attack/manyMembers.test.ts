import { expect } from 'chai';
import { at, WebFixture } from '../../api/webFixture.js';
import { cpuTimer } from '../../support/cpuTime.js';
import { knexOf } from '../../support/knexOf.js';

const MEMBERS = 20_000;
const IDS = 50_000;
const CLASSES = 10_000;

describe('attack: long lists of members and classes', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid } = await fixture.createTenant('hostile'));
    ({ access_token: token } = await fixture.signIn(tenantid));
  });
  after(() => fixture.stop());

  /** CPU time of this process, in milliseconds. */
  async function cpuMs(work: () => Promise<unknown>): Promise<number> {
    const elapsedMs = cpuTimer();
    await work();
    return elapsedMs();
  }

  it('do not hold the process while they are compared with the members that a class has', async () => {
    const made = await fixture.control(
      token,
      'mutation { create_role_class(input: {name: "all"}) { classid } }',
    );
    const classid = Number(at(made, 'data.create_role_class.classid'));
    await knexOf(fixture.testDatabase.database).raw(
      `insert into rowpost.role (tenantid, name, parentid, classes, capabilities)
       select t.tenantid, 'member', t.root_roleid, array[?::int], '{}' from rowpost.tenant t, generate_series(1, ?::int)
       where t.tenantid = ?`,
      [classid, MEMBERS, tenantid],
    );
    const members = Array.from({ length: IDS }, (_, id) => 900_000_000 + id);
    const taken = await cpuMs(async () => {
      const response = await fixture.control(
        token,
        `mutation ($members: [ID]) { update_role_class(classid: ${classid}, input: {members: $members}) { classid } }`,
        { members },
      );
      expect(at(response, 'errors.0.extensions.code')).to.equal('UNKNOWN_ROLE');
    });
    expect(taken).to.be.below(1_500);
  });

  it('do not hold the process while they are compared with the classes of the caller', async () => {
    const knex = knexOf(fixture.testDatabase.database);
    const { rows } = await knex.raw<{ rows: { classid: number }[] }>(
      `insert into rowpost.role_class (tenantid, name) select ?::int, 'class ' || n from generate_series(1, ?::int) n returning classid`,
      [tenantid, CLASSES],
    );
    const classes = rows.map(({ classid }) => classid);
    const role = await fixture.createMember(token, 'maker', ['login', 'create_role']);
    await knex.raw('update rowpost.role set classes = ? where roleid = ?', [classes, role.roleid]);
    const taken = await cpuMs(async () => {
      const response = await fixture.control(
        role.token,
        'mutation ($classes: [Int]) { create_role(input: {classes: $classes}) { roleid } }',
        { classes: Array.from({ length: 90_000 }, () => classes.at(-1)) },
      );
      expect(at(response, 'errors')).to.equal(undefined);
    });
    expect(taken).to.be.below(1_500);
  });
});

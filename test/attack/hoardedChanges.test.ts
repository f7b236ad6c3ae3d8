import { expect } from 'chai';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';

/** Changes of a role within an hour. */
const MAX_CHANGES = 10_000;

/** A role without any rights filled the database with a megabyte a second of events, which are kept for a year. */
describe('attack: a role changes its own name again and again, and each time is an audit event', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let root: string;
  let rootRoleid: number;
  let plain: { readonly roleid: number; readonly token: string };
  let other: { readonly roleid: number; readonly token: string };

  before(async () => {
    fixture = await WebFixture.start();
    ({ tenantid, rootRoleid } = await fixture.createTenant('shop'));
    root = (await fixture.signIn(tenantid)).access_token;
    plain = await fixture.createMember(root, 'plain', ['login']);
    other = await fixture.createMember(root, 'other', ['login']);
  });
  after(() => fixture.stop());

  const pool = () => fixture.testDatabase.database.pool;
  const rename = (token: string, roleid: number, times: number): Promise<GraphqlResult> => {
    const fields = Array.from(
      { length: times },
      (_, n) => `a${n}: update_role(roleid: ${roleid}, input: { name: "name ${n}" }) { name }`,
    );
    return fixture.control(token, `mutation { ${fields.join(' ')} }`);
  };
  const addEvents = (roleid: number, count: number, minutes: number) =>
    pool().query(
      `insert into rowpost.audit_event (tenantid, roleid, object, operation, time)
       select $1, $2, 'role', 'update', now() - make_interval(mins => $4) from generate_series(1, $3)`,
      [tenantid, roleid, count, minutes],
    );
  const eventsOf = async (roleid: number): Promise<number> =>
    (
      await pool().query<{ count: number }>(
        'select count(*)::int as count from rowpost.audit_event where roleid = $1',
        [roleid],
      )
    ).rows[0]!.count;

  it('ten thousand times an hour, and no more, and others go on', async () => {
    await addEvents(plain.roleid, MAX_CHANGES - 10, 50);
    expect((await rename(plain.token, plain.roleid, 10)).errors).to.equal(undefined);
    expect(await eventsOf(plain.roleid)).to.equal(MAX_CHANGES);
    expect(codeOf(await rename(plain.token, plain.roleid, 1))).to.equal('RATE_LIMITED');
    expect(await eventsOf(plain.roleid)).to.equal(MAX_CHANGES);
    const { rows } = await pool().query('select name from rowpost.role where roleid = $1', [plain.roleid]);
    expect(rows).to.deep.equal([{ name: 'name 9' }]);
    expect((await rename(other.token, other.roleid, 1)).errors).to.equal(undefined);
    expect((await rename(root, plain.roleid, 1)).errors).to.equal(undefined);
  });

  it('in one request, which is undone as a whole', async () => {
    await addEvents(other.roleid, MAX_CHANGES - 10, 50);
    expect(codeOf(await rename(other.token, other.roleid, 20))).to.equal('RATE_LIMITED');
    expect(await eventsOf(other.roleid)).to.be.lessThan(MAX_CHANGES);
  });

  it('and again when the hour is over', async () => {
    await pool().query("update rowpost.audit_event set time = time - interval '1 hour' where roleid = $1", [
      plain.roleid,
    ]);
    expect((await rename(plain.token, plain.roleid, 1)).errors).to.equal(undefined);
  });

  it('not as an administrator, whose scripts may change more', async () => {
    await addEvents(rootRoleid, MAX_CHANGES, 1);
    expect((await rename(root, plain.roleid, 1)).errors).to.equal(undefined);
  });
});

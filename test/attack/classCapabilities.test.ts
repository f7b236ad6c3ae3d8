import { expect } from 'chai';
import { codeOf, textAt, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';

const DENIED = 'PERMISSION_DENIED';
const CREATE = 'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }';
const UPDATE =
  'mutation ($id: ID!, $input: role_classInput) { update_role_class(classid: $id, input: $input) { classid } }';
const MANAGES = ['create_role', 'update_role', 'create_class', 'update_class', 'delete_class', 'view_class'];

type Member = Awaited<ReturnType<WebFixture['createMember']>>;

describe('attack: capabilities by way of a class', () => {
  let fixture: WebFixture;
  let root: string;
  let names = 0;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table note (id int primary key)');
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  const named = (what: string): string => `${what} ${(names += 1)}`;
  const member = (capabilities: readonly string[] = [], parentid?: number): Promise<Member> =>
    fixture.createMember(root, named('member'), ['login', ...capabilities], parentid);
  const create = (token: string, input: Json): Promise<GraphqlResult> =>
    fixture.control(token, CREATE, { input: { name: named('class'), ...input } });
  const made = async (input: Json): Promise<string> =>
    textAt(await create(root, input), 'data.create_role_class.classid');
  const update = (token: string, id: string, input: Json): Promise<GraphqlResult> =>
    fixture.control(token, UPDATE, { id, input });
  /** Within a second, as for any change of a role. */
  const sees = async ({ token }: Member): Promise<boolean> =>
    codeOf(await fixture.control(token, '{ email_delivery { deliveryid } }')) === undefined;
  const setPassword = async (by: Member, { roleid }: Member): Promise<string | undefined> =>
    codeOf(
      await fixture.control(
        by.token,
        `mutation { update_role(roleid: ${roleid}, input: { password: "correct horse battery" }) { roleid } }`,
      ),
    );

  it('are those of its members, and of the roles below them if it is inherited, while they are in it', async () => {
    const above = await member();
    const below = await member([], above.roleid);
    expect([await sees(above), await sees(below)]).to.deep.equal([false, false]);
    const id = await made({ members: [above.roleid], capabilities: ['view_delivery'] });
    expect([await sees(above), await sees(below)]).to.deep.equal([true, false]);
    await update(root, id, { inherit: 'full' });
    expect([await sees(above), await sees(below)]).to.deep.equal([true, true]);
    await update(root, id, { capabilities: [] });
    expect([await sees(above), await sees(below)]).to.deep.equal([false, false]);
    await update(root, id, { capabilities: ['view_delivery'], members: [] });
    expect([await sees(above), await sees(below)]).to.deep.equal([false, false]);
  });

  it('are never those of signing in, of roles or of rows', async () => {
    const { rows } = await fixture.testDatabase.database.pool.query<{ capability: string }>(
      'select capability from rowpost.capability',
    );
    const given: string[] = [];
    for (const { capability } of rows) {
      const code = codeOf(await create(root, { capabilities: [capability] }));
      if (code === undefined) given.push(capability);
      else expect(code, capability).to.equal('BAD_USER_INPUT');
    }
    expect(given).to.have.members(['view_delivery', 'repair_delivery', 'edit_email']);
    const id = await made({});
    for (const capability of ['admin', 'login', 'select', 'create_role', 'x']) {
      const error = await fixture.testDatabase.database.pool
        .query('update rowpost.role_class set capabilities = $2 where classid = $1', [id, [capability]])
        .catch((thrown: unknown) => thrown);
      expect(error, capability).to.include({ code: '23514' });
    }
  });

  it('are given by nobody who lacks them', async () => {
    const boss = await member([...MANAGES, 'view_delivery']);
    const child = await member([], boss.roleid);
    expect(
      codeOf(await create(boss.token, { capabilities: ['view_delivery'], members: [child.roleid] })),
    ).to.equal(undefined);
    expect(await sees(child)).to.equal(true);
    for (const capabilities of [['edit_email'], ['view_delivery', 'repair_delivery']])
      expect(codeOf(await create(boss.token, { capabilities })), String(capabilities)).to.equal(DENIED);
    const other = await member([...MANAGES, 'view_delivery']);
    const own = await made({ members: [other.roleid], inherit: 'full' });
    expect(codeOf(await update(other.token, own, { capabilities: ['edit_email'] }))).to.equal(DENIED);
    expect(codeOf(await update(other.token, own, { capabilities: ['view_delivery'] }))).to.equal(undefined);
  });

  it('of a class that the caller is not in are neither joined, given to others nor taken', async () => {
    const boss = await member(MANAGES);
    const child = await member([], boss.roleid);
    const id = await made({ capabilities: ['edit_email'] });
    for (const input of [
      { members: [boss.roleid] },
      { members: [child.roleid] },
      { inherit: 'full' },
      { capabilities: [] },
    ])
      expect(codeOf(await update(boss.token, id, input)), JSON.stringify(input)).to.equal(DENIED);
    for (const { roleid } of [boss, child]) {
      const joining = `mutation { update_role(roleid: ${roleid}, input: { classes: [${id}] }) { roleid } }`;
      expect(codeOf(await fixture.control(boss.token, joining))).to.be.oneOf([DENIED, 'NOT_FOUND']);
    }
    expect(
      codeOf(await fixture.control(boss.token, `mutation { delete_role_class(classid: ${id}) { classid } }`)),
    ).to.equal(DENIED);
  });

  it('of a role below count like its own: who lacks them acts not for it', async () => {
    const boss = await member(MANAGES);
    const child = await member([], boss.roleid);
    const grandchild = await member([], child.roleid);
    expect(await setPassword(boss, grandchild)).to.equal(undefined);
    const id = await made({ members: [child.roleid], capabilities: ['view_delivery'], inherit: 'full' });
    for (const each of [child, grandchild]) expect(await setPassword(boss, each)).to.equal(DENIED);
    const token = await fixture.control(boss.token, `{ Utility { role_token(roleid: ${child.roleid}) } }`);
    expect(codeOf(token)).to.equal(DENIED);
    await update(root, id, { members: [] });
    // What a role holds by a class it may let others hold by themselves.
    const holder = await member([], boss.roleid);
    await fixture.control(
      root,
      `mutation { update_role(roleid: ${holder.roleid}, input: { capabilities: ["login", "view_delivery"] }) { roleid } }`,
    );
    expect(await setPassword(boss, holder)).to.equal(DENIED);
    await made({ members: [boss.roleid], capabilities: ['view_delivery'] });
    expect(await setPassword(boss, holder)).to.equal(undefined);
  });

  it('are not given to whoever signs up', async () => {
    expect(codeOf(await create(root, { allow_signup: true, capabilities: ['view_delivery'] }))).to.equal(
      'BAD_USER_INPUT',
    );
    const giving = await made({ capabilities: ['view_delivery'] });
    expect(codeOf(await update(root, giving, { allow_signup: true }))).to.equal('BAD_USER_INPUT');
    const open = await made({ allow_signup: true });
    expect(codeOf(await update(root, open, { capabilities: ['view_delivery'] }))).to.equal('BAD_USER_INPUT');
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { waitFor } from '../support/waitFor.js';

/** Each load of a role in a loop ran until the statement timeout: twelve sign-ins took the database from other tenants. */
describe('attack: a tenant makes its role tree a loop', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let root: string;
  const ids: Record<string, number> = {};

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    for (const login of ['a', 'b', 'deep']) {
      ids[login] = (await fixture.createMember(root, login, ['login'])).roleid;
    }
    await fixture.control(
      root,
      'mutation { create_role_class(input: {name: "all", inherit: "full"}) { classid } }',
    );
  });
  after(() => fixture.stop());

  const sql = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await fixture.testDatabase.database.pool.query(text, values)).rows as Record<string, unknown>[];
  const move = (roleid: number, parentid: number): Promise<GraphqlResult> =>
    fixture.control(
      root,
      `mutation { update_role(roleid: ${roleid}, input: {parentid: ${parentid}}) { roleid } }`,
    );
  const parents = async (): Promise<unknown> => {
    const rows = await sql('select roleid, parentid from rowpost.role where roleid = any ($1)', [
      [ids['a'], ids['b']],
    ]);
    return rows.map(({ parentid }) => parentid);
  };

  /** Both have checked what they check before either writes, if anything lets them. */
  async function together(...requests: (() => Promise<GraphqlResult>)[]): Promise<readonly GraphqlResult[]> {
    const holder = fixture.testDatabase.database.createClient();
    await holder.connect();
    try {
      await holder.query('begin');
      await holder.query('select from rowpost.role where tenantid = $1 and login <> $2 for update', [
        tenant.tenantid,
        'root',
      ]);
      const sent = requests.map((request) => request());
      await waitFor('both to wait', async () => {
        const [row] = await sql(
          "select count(*)::int as n from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return row!['n'] === requests.length;
      });
      await holder.query('rollback');
      return await Promise.all(sent);
    } finally {
      await holder.end();
    }
  }

  it('by two moves at once: the second is refused', async () => {
    const { a, b } = ids as Record<'a' | 'b', number>;
    const responses = await together(
      () => move(a, b),
      () => move(b, a),
    );
    expect(responses.map(codeOf).sort()).to.deep.equal(['BAD_USER_INPUT', undefined]);
    expect(await parents()).to.include(tenant.rootRoleid);
    await Promise.all([move(a, tenant.rootRoleid), move(b, tenant.rootRoleid)]);
  });

  it('by placing a role below one that is being deleted', async () => {
    const { a, b } = ids as Record<'a' | 'b', number>;
    const responses = await together(
      () => fixture.control(root, `mutation { delete_role(roleid: ${b}) { roleid } }`),
      () => move(a, b),
    );
    // The move came first, or there was no such role any more.
    const [, moved] = responses.map(codeOf);
    expect(responses.map(codeOf)[0]).to.equal(undefined);
    expect(moved).to.be.oneOf([undefined, 'UNKNOWN_ROLE']);
    await fixture.control(root, `mutation { update_role(roleid: ${b}, input: {deleted: false}) { roleid } }`);
    await move(a, tenant.rootRoleid);
  });

  it('in PostgreSQL itself, in one statement or in two transactions', async () => {
    const { a, b } = ids as Record<'a' | 'b', number>;
    const swap =
      'update rowpost.role set parentid = case roleid when $1 then $2::int else $1::int end where roleid in ($1, $2)';
    expect(await constraintOf(sql(swap, [a, b]))).to.equal('role_tree');
    expect(
      await constraintOf(sql('update rowpost.role set parentid = roleid where roleid = $1', [a])),
    ).to.equal('role_tree');
    const place = (roleid: number, parentid: number) =>
      sql('update rowpost.role set parentid = $2 where roleid = $1', [roleid, parentid]).then(
        () => 'placed',
        () => 'refused',
      );
    for (let round = 0; round < 20; round++) {
      expect((await Promise.all([place(a, b), place(b, a)])).sort()).to.deep.equal(['placed', 'refused']);
      await sql('update rowpost.role set parentid = $2 where roleid = any ($1)', [[a, b], tenant.rootRoleid]);
    }
  });

  it('across tenants', async () => {
    const other = await fixture.createTenant('other');
    const taken = sql('update rowpost.role set parentid = $2 where roleid = $1', [
      ids['a'],
      other.rootRoleid,
    ]);
    expect(await constraintOf(taken)).to.equal('role_parentid_fkey');
    expect(codeOf(await move(ids['a']!, other.rootRoleid))).to.equal('UNKNOWN_ROLE');
  });

  it('or as deep as recursion can bear: a role has at most 100 above it', async () => {
    let parentid = tenant.rootRoleid;
    const chain: number[] = [];
    for (let level = 1; level <= 100; level++) {
      const [row] = await sql(
        'insert into rowpost.role (tenantid, parentid) values ($1, $2) returning roleid',
        [tenant.tenantid, parentid],
      );
      chain.push((parentid = row!['roleid'] as number));
    }
    const made = await fixture.control(
      root,
      `mutation { create_role(input: {login: "deepest", parentid: ${parentid}}) { roleid } }`,
    );
    expect(codeOf(made)).to.equal('BAD_USER_INPUT');
    expect(codeOf(await move(chain[0]!, ids['deep']!))).to.equal('BAD_USER_INPUT');
  });

  it('and one that is there all the same is loaded at once', async () => {
    const { a, b } = ids as Record<'a' | 'b', number>;
    await sql('alter table rowpost.role disable trigger role_tree');
    await sql(
      'update rowpost.role set parentid = case roleid when $1 then $2::int else $1::int end where roleid in ($1, $2)',
      [a, b],
    );
    const started = performance.now();
    const { errors } = await fixture.control(root, `{ Utility { role_rights(roleid: ${a}) { roleid } } }`);
    expect(errors).to.equal(undefined);
    expect(performance.now() - started).to.be.lessThan(30_000);
    await sql('update rowpost.role set parentid = $2 where roleid = any ($1)', [[a, b], tenant.rootRoleid]);
    await sql('alter table rowpost.role enable trigger role_tree');
  });

  it('by no statement whose recursion repeats itself', () => {
    const files = ['src', 'migrations'].flatMap((folder) =>
      readdirSync(new URL(`../../${folder}`, import.meta.url), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(ts|js|sql)$/.test(name))
        .map((name) => `${folder}/${name}`),
    );
    const recursive = files.flatMap((name) => {
      const [, ...rest] = readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8').split(
        /with recursive/i,
      );
      return rest.map((text) => ({ name, first: /\bunion( all)?\b/i.exec(text)?.[0] }));
    });
    expect(recursive.length).to.be.greaterThan(5);
    expect(recursive.filter(({ first }) => first !== 'union')).to.deep.equal([]);
  });
});

/** The constraint that refuses the statement. */
async function constraintOf(statement: Promise<unknown>): Promise<string | undefined> {
  try {
    await statement;
    return undefined;
  } catch (error) {
    return (error as { constraint?: string }).constraint;
  }
}

import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { textsOf } from '../../../src/control/oidc/claims.js';
import { startMisbehaving, type MisbehavingFixture } from '../../api/oidc/support/misbehavingFixture.js';
import { at, type AuthBody, type GraphqlResult, type Json } from '../../api/webFixture.js';
import { cpuTimer } from '../../support/cpuTime.js';

const CLASSES = 9_990;

/** What root says about sign-ins is read and applied at each of them, which anyone may begin. */
describe('attack: provisionings of any size', function () {
  this.timeout(300_000);
  let started: MisbehavingFixture;
  let confid: number;
  let parentid: number;
  before(async () => {
    started = await startMisbehaving();
    const { fixture, provider } = started;
    const { endpoints, issuer } = provider;
    confid = await fixture.createConfig(await fixture.createProvider({ ...endpoints, issuer }));
    ({ roleid: parentid } = await fixture.web.createMember(fixture.root, 'parent', ['login']));
  });
  after(() => started.stop());

  const control = (query: string, variables: Json): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query, variables);
  const create = (object: string, input: Json): Promise<GraphqlResult> =>
    control(
      `mutation ($input: ${object}Input) { create_${object}(input: $input) { confid ${object === 'oidc_provisioning' ? 'capabilities classes' : ''} } }`,
      { input },
    );
  const signIn = async (person: JWTPayload): Promise<AuthBody> => {
    started.provider.misbehavior = { claims: person };
    return started.signIn(confid);
  };

  it('are refused: each text has a length', async () => {
    const long = 'a.'.repeat(250_000);
    const paths = { required_claim: 'groups', required_value: 'x' };
    for (const [object, input] of [
      ...['groups_claim', 'name', 'login', 'scope'].map(
        (field) => ['oidc_provisioning', { [field]: long }] as const,
      ),
      ['oidc_provisioning', { ...paths, required_claim: long }],
      ['oidc_provisioning', { ...paths, required_value: long }],
      ['oidc_group_class', { group_name: long, classid: 1 }],
      ['oidc_config', { client_id: long }],
      ['oidc_config', { client_secret: long }],
    ] as const) {
      const base =
        object === 'oidc_config' ? { providerid: 1, client_id: 'c', client_secret: 's' } : { confid };
      const refused = await create(object, {
        ...base,
        ...(object === 'oidc_provisioning' && { parentid }),
        ...input,
      });
      const [field = ''] = Object.entries(input).find(([, value]) => value === long) ?? [];
      expect(refused.errors?.[0]?.message, field).to.match(
        new RegExp(`^${field} has at most [\\d,]+ characters`),
      );
    }
  });

  it('find a claim in milliseconds, whatever the path and the claims', () => {
    // The longest path, and claims that take a step of it each.
    const path = 'a.'.repeat(100).slice(0, 199);
    let claims: Json = { a: 'found' };
    for (let level = 1; level < 100; level++) claims = { a: claims };
    const elapsedMs = cpuTimer();
    expect(textsOf(claims, path)).to.deep.equal(['found']);
    expect(elapsedMs()).to.be.below(200);
  });

  it('keep each capability and class once, and put a role into ten thousand classes, and out of them, in a moment', async () => {
    const { fixture } = started;
    const { tenantid } = fixture.tenant;
    const { pool } = fixture.web.testDatabase.database;
    await pool.query(
      `insert into rowpost.role_class (tenantid, name) select $1, 'c' || n from generate_series(1, $2) n`,
      [tenantid, CLASSES],
    );
    await pool.query(
      `update rowpost.role set classes = array(select classid from rowpost.role_class where tenantid = $1) where roleid = $2`,
      [tenantid, parentid],
    );
    const { rows } = await pool.query<{ classid: number }>(
      'select min(classid) as classid from rowpost.role_class',
    );
    const { classid = 0 } = rows[0] ?? {};
    const made = await create('oidc_provisioning', {
      confid,
      parentid,
      groups_claim: 'groups',
      capabilities: Array.from({ length: 50_000 }, () => 'login'),
      classes: Array.from({ length: 50_000 }, () => classid),
    });
    expect(at(made, 'data.create_oidc_provisioning')).to.deep.equal({
      confid: String(confid),
      capabilities: ['login'],
      classes: [classid],
    });
    await pool.query(
      `insert into rowpost.oidc_group_class (confid, tenantid, group_name, classid)
       select $1, $2, 'all', classid from rowpost.role_class where tenantid = $2`,
      [confid, tenantid],
    );
    for (const [groups, classes] of [
      [['all'], CLASSES],
      [['all'], CLASSES],
      [[], 1],
      [['all'], CLASSES],
    ] as const) {
      const startedAtMs = performance.now();
      const elapsedMs = cpuTimer();
      const { roleid } = await signIn({ sub: 'somebody new', groups });
      expect(elapsedMs(), 'of this process').to.be.below(1_000);
      expect(performance.now() - startedAtMs, 'with that of PostgreSQL').to.be.below(4_000);
      const held = await pool.query<{ classes: number[] }>(
        'select classes from rowpost.role where roleid = $1',
        [roleid],
      );
      expect(new Set(held.rows[0]?.classes).size).to.equal(classes);
      expect(held.rows[0]?.classes).to.have.length(classes);
    }
  });

  it('have at most ten thousand groups', async () => {
    const { fixture } = started;
    const { pool } = fixture.web.testDatabase.database;
    await pool.query(
      `insert into rowpost.oidc_group_class (confid, tenantid, group_name, classid)
       select $1, $2, 'g' || n, (select min(classid) from rowpost.role_class) from generate_series(1, 10) n`,
      [confid, fixture.tenant.tenantid],
    );
    const { rows } = await pool.query<{ classid: number }>(
      'select min(classid) as classid from rowpost.role_class',
    );
    const refused = await create('oidc_group_class', { confid, group_name: 'x', classid: rows[0]?.classid });
    expect(refused.errors?.[0]?.message).to.equal(
      'A configuration has at most 10000 groups with their classes.',
    );
  });
});

import { expect } from 'chai';
import type { JWTPayload } from 'jose';
import { at, type AuthBody, type GraphqlResult, type Json } from '../webFixture.js';
import { startMisbehaving, type MisbehavingFixture } from './support/misbehavingFixture.js';
import type { FailureBody } from './support/oidcFixture.js';

const CREATE =
  'mutation ($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid parentid capabilities classes } }';

describe('roles that sign-ins make', () => {
  let started: MisbehavingFixture;
  let confid: number;
  before(async () => {
    started = await startMisbehaving();
  });
  after(() => started.stop());

  const control = (query: string, variables: Json = {}): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, query, variables);
  const rows = async (sql: string): Promise<readonly Json[]> =>
    (await started.fixture.web.testDatabase.database.pool.query<Json>(sql)).rows;
  const createClass = async (name: string, members: readonly number[] = []): Promise<number> => {
    const query = 'mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }';
    return Number(at(await control(query, { input: { name, members } }), 'data.create_role_class.classid'));
  };
  const provision = async (input: Json): Promise<GraphqlResult> =>
    control(CREATE, { input: { confid, ...input } });
  const mapGroup = async (group_name: string, classid: number): Promise<void> => {
    const query =
      'mutation ($input: oidc_group_classInput) { create_oidc_group_class(input: $input) { classid } }';
    expect((await control(query, { input: { confid, group_name, classid } })).errors).to.equal(undefined);
  };

  /** Somebody signs in without saying as which role. */
  const signIn = async (person: JWTPayload): Promise<AuthBody & FailureBody> => {
    started.provider.misbehavior = { claims: person };
    return signInNext();
  };
  const signInNext = (): Promise<AuthBody & FailureBody> => started.signIn(confid);
  const rightsOf = async (roleid: number): Promise<Json> => {
    const reply = await control(
      `{ Utility { role_rights(roleid: ${roleid}) { capabilities classes } } role(filter: "roleid = ${roleid}") { login name parentid } }`,
    );
    return { ...(at(reply, 'data.Utility.role_rights') as Json), ...(at(reply, 'data.role.0') as Json) };
  };

  let parentid: number;
  let members: readonly [staff: number, editors: number, other: number];
  beforeEach(async () => {
    const { fixture, provider } = started;
    provider.misbehavior = {};
    confid = await fixture.createConfig(
      await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
    );
    const name = `of ${confid}`;
    parentid = (await fixture.web.createMember(fixture.root, name, ['login', 'select', 'update'])).roleid;
    members = [
      await createClass(`staff ${name}`, [parentid]),
      await createClass(`editors ${name}`, [parentid]),
      await createClass(`other ${name}`),
    ];
  });

  it('are made by nobody unless the configuration says so', async () => {
    expect(await signIn({ sub: 'ada' })).to.include({ status: 403, code: 'OIDC_ROLE_NOT_MAPPED' });
  });

  it('have the rights, names and mapping that the provisioning gives, and are found again', async () => {
    const [staff] = members;
    await provision({
      parentid,
      capabilities: ['login', 'select'],
      classes: [staff],
      name: '{{ claims.given_name }} {{ claims.family_name | upper }}',
      login: '{{ claims.email }}',
    });
    const person = { sub: 'ada', given_name: 'Ada', family_name: 'Lovelace', email: `ada@${confid}.example` };
    const first = await signIn(person);
    expect(await rightsOf(first.roleid)).to.deep.equal({
      capabilities: ['login', 'select'],
      classes: [staff],
      login: person.email,
      name: 'Ada LOVELACE',
      parentid,
    });
    const again = await signIn({ ...person, email: 'another@example.com' });
    expect(again.roleid).to.equal(first.roleid);
    expect((await signIn({ ...person, sub: 'eve', email: undefined })).roleid).not.to.equal(first.roleid);
  });

  it('are found again by the address however it is spelled, exactly by anything else', async () => {
    const { fixture, provider } = started;
    const byField = async (comparison_field: string): Promise<void> => {
      confid = await fixture.createConfig(
        await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer, comparison_field }),
      );
      await provision({ parentid });
    };
    const spellings = ['ada@example.com', 'Ada@Example.com', 'ADA@EXAMPLE.COM'];
    // toLowerCase makes a k of the Kelvin sign, but it is another letter.
    const others = ['\u212aim@example.com', 'kim@example.com', 'ada@example.com ', 'zoë@x', 'zoË@x'];
    const signInAll = async (): Promise<unknown[]> => {
      const roleids: unknown[] = [];
      for (const email of [...spellings, ...others])
        roleids.push((await signIn({ sub: email, email, email_verified: true })).roleid);
      return roleids;
    };
    await byField('email');
    const [first, ...rest] = await signInAll();
    expect(rest.slice(0, 2)).to.deep.equal([first, first]);
    expect(new Set([first, ...rest]).size).to.equal(1 + others.length);
    // Another role of the same person, mapped by hand: each spelling finds its own, and a third is of both.
    const { roleid } = await fixture.web.createMember(fixture.root, `second ${confid}`, ['login']);
    await fixture.map(roleid, confid, spellings[1]!);
    const asAda = (email: string): Promise<AuthBody & FailureBody> => signIn({ email, email_verified: true });
    expect((await asAda(spellings[0]!)).roleid).to.equal(first);
    expect((await asAda(spellings[1]!)).roleid).to.equal(roleid);
    expect(await asAda(spellings[2]!)).to.include({ code: 'OIDC_ROLE_NOT_MAPPED' });
    provider.misbehavior = { claims: { email: spellings[2]!, email_verified: true } };
    await fixture.readAuthBody(await fixture.signIn(roleid, confid));
    provider.misbehavior = { claims: { email: others[1]!, email_verified: true } };
    expect((await fixture.signIn(roleid, confid)).status).to.equal(403);
    // Whoever may choose the case must not come back as a new role.
    await control(`mutation { delete_role(roleid: ${roleid}) { roleid } }`);
    await control(`mutation { delete_role(roleid: ${String(first)}) { roleid } }`);
    for (const email of [...spellings, 'adA@example.com'])
      expect(await asAda(email), email).to.include({ code: 'OIDC_ROLE_NOT_MAPPED' });
    await byField('sub');
    expect(new Set(await signInAll()).size).to.equal(spellings.length + others.length);
  });

  it('are of identities that PostgreSQL can tell apart', async () => {
    await provision({ parentid, groups_claim: 'groups', email_domains: [], link_by_email: true });
    for (const sub of ['a\0b', 'a\ud800b', 'a\udc00b'])
      expect(await signIn({ sub }), JSON.stringify(sub)).to.include({
        status: 403,
        code: 'OIDC_CLAIM_MISSING',
      });
    await mapGroup('a\ufffd', members[0]);
    const person = { sub: 'ada', email: 'a\0@example.com', email_verified: true };
    const { roleid } = await signIn({ ...person, groups: ['a\ud800', 'x\0'] });
    expect(at(await rightsOf(roleid), 'classes')).to.deep.equal([]);
    await signIn({ ...person, groups: ['a\ufffd'] });
    expect(at(await rightsOf(roleid), 'classes')).to.deep.equal([members[0]]);
  });

  it('are one for a person who signs in several times at the same moment', async () => {
    const [staff, editors] = members;
    await provision({ parentid, groups_claim: 'groups', name: '{{ claims.name }}' });
    await mapGroup('staff', staff);
    await mapGroup('editors', editors);
    const people = Array.from({ length: 24 }, (_, index) => ({
      sub: `person ${index % 16}`,
      groups: index % 2 === 0 ? ['staff', 'nothing'] : ['editors', 'staff'],
    }));
    const waiting = [...people];
    started.provider.misbehavior = { nextPerson: () => waiting.shift()! };
    const bodies = await Promise.all(people.map(signInNext));
    expect(bodies.map(({ code }: Partial<FailureBody>) => code)).to.deep.equal(people.map(() => undefined));
    expect(new Set(bodies.map(({ roleid }) => roleid)).size).to.equal(16);
    const made = await rows(
      `select m.sub_id, r.classes from rowpost.role_oidc m join rowpost.role r using (roleid) where m.confid = ${confid}`,
    );
    expect(new Map(made.map(({ sub_id, classes }) => [sub_id, classes]))).to.deep.equal(
      new Map(
        people.map(({ sub, groups }) => [sub, groups.includes('editors') ? [staff, editors] : [staff]]),
      ),
    );
  });

  it('are in the classes of their groups, whatever the path of the claim, and keep those given by hand', async () => {
    const [staff, editors, other] = members;
    await provision({ parentid, groups_claim: 'https://example.com/access.roles' });
    await mapGroup('a', staff);
    await mapGroup('b', editors);
    await mapGroup('c', other);
    const person = (...groups: unknown[]): JWTPayload => ({
      sub: 'ada',
      'https://example.com/access': { roles: groups },
    });
    const { roleid } = await signIn(person('a', 'c', 7, null));
    expect(at(await rightsOf(roleid), 'classes')).to.deep.equal([staff]);
    await control(
      `mutation { update_role(roleid: ${roleid}, input: { classes: [${staff}, ${other}] }) { roleid } }`,
    );
    for (const [groups, classes] of [
      [['b'], [editors, other]],
      [
        ['a', 'b'],
        [staff, editors, other],
      ],
      [['c'], [other]],
      [[], [other]],
    ] as const) {
      expect((await signIn(person(...groups))).roleid).to.equal(roleid);
      const { classes: held } = await rightsOf(roleid);
      expect(
        [...(held as number[])].sort((a, b) => a - b),
        groups.join(),
      ).to.deep.equal(classes);
    }
    await signIn(person('a'));
    await control(`mutation { delete_role_oidc(roleid: ${roleid}, confid: ${confid}) { roleid } }`);
    expect(at(await rightsOf(roleid), 'classes')).to.deep.equal([other]);
  });

  it('are in the classes of their groups, in whichever form the provider has them', async () => {
    const [staff, editors] = members;
    const forms: readonly [path: string, claims: JWTPayload][] = [
      ['groups', { groups: 'a' }],
      // Oracle's identity domains.
      ['groups.name', { groups: [{ id: '1', name: 'a' }, { name: 'x' }, { id: 'b' }, 'b', null] }],
      ['orgs.teams.name', { orgs: [{ teams: [{ name: 'x' }] }, { teams: [{ name: 'a' }] }, { teams: 'b' }] }],
      // Zitadel.
      ['urn:roles', { 'urn:roles': { a: { '1': 'b' }, x: { '2': 'b' } } }],
      ['of.app.roles', { of: { b: ['b'], 'app.roles': ['a'] }, 'of.app': ['b'] }],
    ];
    for (const [path, claims] of forms) {
      const { fixture, provider } = started;
      confid = await fixture.createConfig(
        await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
      );
      await provision({ parentid, groups_claim: path });
      await mapGroup('a', staff);
      await mapGroup('b', editors);
      const { roleid } = await signIn({ sub: 'ada', ...claims });
      expect(at(await rightsOf(roleid), 'classes'), path).to.deep.equal(
        path.startsWith('of.') ? [] : [staff],
      );
    }
  });

  it('may do, besides, what the classes of their groups give, from one sign-in to the next', async () => {
    const [staff] = members;
    const giving = await control(
      `mutation { update_role_class(classid: ${staff}, input: { capabilities: ["view_delivery"] }) { classid } }`,
    );
    expect(giving.errors).to.equal(undefined);
    await provision({ parentid, groups_claim: 'groups' });
    await mapGroup('support', staff);
    for (const [groups, may] of [
      [[], false],
      [['support'], true],
      [['else'], false],
    ] as const) {
      const { access_token } = await signIn({ sub: 'ada', groups });
      const list = await started.fixture.web.control(access_token, '{ email_delivery { deliveryid } }');
      expect(list.errors === undefined, groups.join()).to.equal(may);
    }
  });

  it('hold nothing that the role above them does not hold, also when it has lost it since', async () => {
    const [staff, editors, other] = members;
    const code = async (input: Json): Promise<unknown> =>
      (await provision(input)).errors?.[0]?.extensions.code;
    expect(await code({ parentid, capabilities: ['login', 'delete'] })).to.equal('PERMISSION_DENIED');
    expect(await code({ parentid, classes: [other] })).to.equal('PERMISSION_DENIED');
    await provision({
      parentid,
      capabilities: ['login', 'update'],
      classes: [editors],
      groups_claim: 'groups',
    });
    await mapGroup('all', staff);
    await control(
      `mutation { update_role(roleid: ${parentid}, input: { capabilities: ["login"], classes: [] }) { roleid } }`,
    );
    const rights = { capabilities: ['login'], classes: [] };
    const { roleid } = await signIn({ sub: 'ada', groups: ['all'] });
    expect(await rightsOf(roleid)).to.deep.include(rights);
    const setParent = (classes: string): Promise<unknown> =>
      control(`mutation { update_role(roleid: ${parentid}, input: { classes: ${classes} }) { roleid } }`);
    await setParent(`[${staff}]`);
    await signIn({ sub: 'ada', groups: ['all'] });
    expect(await rightsOf(roleid)).to.deep.include({ ...rights, classes: [staff] });
    await setParent('[]');
    await signIn({ sub: 'ada', groups: ['all'] });
    expect(await rightsOf(roleid)).to.deep.include(rights);
  });

  it('are not made, and do not sign in, for people who are not let in', async () => {
    await provision({
      parentid,
      email_domains: ['Example.com'],
      required_claim: 'groups',
      required_value: 'rowpost',
      seats: 1,
    });
    const person = { sub: 'ada', email: 'ada@EXAMPLE.com', email_verified: true, groups: ['rowpost', 'x'] };
    for (const wrong of [
      { email_verified: undefined },
      { email_verified: 'true' },
      { email: 'ada@example.com.evil.example' },
      { email: ['ada@example.com'] },
      { groups: 'rowpostx' },
      { groups: undefined },
      { _claim_names: { groups: 'src1' }, groups: undefined },
    ])
      expect(await signIn({ ...person, ...wrong }), JSON.stringify(wrong)).to.include({
        status: 403,
        code: 'OIDC_NOT_ADMITTED',
      });
    const { roleid } = await signIn(person);
    expect(await signIn({ ...person, sub: 'eve' })).to.include({ code: 'OIDC_NOT_ADMITTED' });
    expect(await signIn({ ...person, groups: [] })).to.include({ code: 'OIDC_NOT_ADMITTED' });
    await control(`mutation { delete_role(roleid: ${roleid}) { roleid } }`);
    expect(await signIn(person)).to.include({ code: 'OIDC_ROLE_NOT_MAPPED' });
    expect((await signIn({ ...person, sub: 'eve' })).roleid).to.be.a('number');
  });

  it('are made for a claim that is true or a number, as for its text', async () => {
    const letIn = async (required_value: string, claim: unknown): Promise<boolean> => {
      const { fixture, provider } = started;
      confid = await fixture.createConfig(
        await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer }),
      );
      await provision({ parentid, required_claim: 'is_staff', required_value });
      const { code } = (await signIn({ sub: 'ada', is_staff: claim })) as Partial<FailureBody>;
      expect(code).to.be.oneOf([undefined, 'OIDC_NOT_ADMITTED']);
      return code === undefined;
    };
    for (const claim of [true, 'true', ['x', true]]) expect(await letIn('true', claim)).to.equal(true);
    for (const claim of [false, null, 1, 'True', {}]) expect(await letIn('true', claim)).to.equal(false);
    expect(await letIn('5', 5)).to.equal(true);
    // Read as JSON, it is not the number that the provider wrote.
    expect(await letIn('12345678901234567000', 12345678901234567000)).to.equal(false);
  });

  it('sign in also when the role above them has been deleted, below which no more are made', async () => {
    const [staff] = members;
    await provision({ parentid, groups_claim: 'groups' });
    await mapGroup('staff', staff);
    const { roleid } = await signIn({ sub: 'ada', groups: ['staff'] });
    await control(`mutation { delete_role(roleid: ${parentid}) { roleid } }`);
    expect((await signIn({ sub: 'ada', groups: ['staff'] })).roleid).to.equal(roleid);
    expect(at(await rightsOf(roleid), 'classes')).to.deep.equal([]);
    expect(await signIn({ sub: 'eve' })).to.include({ code: 'OIDC_NOT_ADMITTED' });
  });

  it('are not made while the tenant is suspended', async () => {
    await provision({ parentid });
    const { fixture } = started;
    const suspend = async (suspended: boolean): Promise<void> => {
      const query = `mutation { update_tenant(tenantid: ${fixture.tenant.tenantid}, input: { suspended: ${suspended} }) { tenantid } }`;
      expect((await fixture.web.control(fixture.pxadmin, query)).errors).to.equal(undefined);
    };
    await suspend(true);
    try {
      expect(await signIn({ sub: 'ada' })).to.include({ code: 'TENANT_SUSPENDED' });
    } finally {
      await suspend(false);
    }
    expect(await rows(`select from rowpost.role_oidc where confid = ${confid}`)).to.have.length(0);
  });

  it('are refused if the provider leaves groups out, or templates and logins fail', async () => {
    await provision({
      parentid,
      groups_claim: 'groups',
      login: '{{ claims.login + 1 if claims.bad else claims.login }}',
    });
    for (const wrong of [
      { _claim_names: { groups: 'src1' } },
      { bad: true, login: 'x' },
      { login: 'root' },
      { login: 'Admin' },
      { login: 'nobody' },
      { login: 'a\u202Eb' },
      { login: 'x'.repeat(1_000) },
    ])
      expect(await signIn({ sub: 'ada', ...wrong }), JSON.stringify(wrong)).to.include({
        code: 'OIDC_NOT_ADMITTED',
      });
    expect(await rows(`select from rowpost.role_oidc where confid = ${confid}`)).to.have.length(0);
  });

  it('may be roles that were there, by their verified address, once, and never ones with more rights', async () => {
    const { fixture } = started;
    await provision({ parentid, link_by_email: true });
    const login = `ada@${confid}.example`;
    const { roleid } = await fixture.web.createMember(fixture.root, login, ['login', 'select'], parentid);
    const strong = `bob@${confid}.example`;
    await fixture.web.createMember(fixture.root, strong, ['login', 'delete'], parentid);
    const elsewhere = `eve@${confid}.example`;
    await fixture.web.createMember(fixture.root, elsewhere, ['login']);
    expect((await signIn({ sub: 'x', email: login })).roleid).not.to.equal(roleid);
    const linked = { sub: 'ada', email: login.toUpperCase(), email_verified: true };
    expect((await signIn(linked)).roleid).to.equal(roleid);
    expect((await signIn(linked)).roleid).to.equal(roleid);
    expect((await signIn({ ...linked, sub: 'another' })).roleid).not.to.equal(roleid);
    for (const email of [strong, elsewhere, 'root']) {
      const body = await signIn({ sub: email, email, email_verified: true });
      expect(await rightsOf(body.roleid), email).to.deep.include({
        login: null,
        capabilities: ['login'],
        parentid,
      });
    }
  });

  it('are configured by root alone, with names that are there', async () => {
    const { fixture } = started;
    const admin = await fixture.web.createMember(fixture.root, `admin ${confid}`, ['login', 'admin']);
    const input = { confid, parentid };
    const refused = await fixture.web.control(admin.token, CREATE, { input });
    expect(refused.errors?.[0]?.extensions.code).to.equal('PERMISSION_DENIED');
    for (const [wrong, code] of [
      [{ parentid: 99_999 }, 'UNKNOWN_ROLE'],
      [{ confid: 99_999 }, 'OIDC_CONFID_NOT_FOUND'],
      [{ capabilities: ['fly'] }, 'UNKNOWN_CAPABILITY'],
      [{ classes: [99_999] }, 'BAD_USER_INPUT'],
      [{ name: '{{ claims' }, 'TEMPLATE_SYNTAX'],
      [{ email_domains: ['@example.com'] }, 'BAD_USER_INPUT'],
      [{ required_claim: 'hd' }, 'BAD_USER_INPUT'],
      [{ seats: 0 }, 'BAD_USER_INPUT'],
      [{ scope: 'a"b' }, 'BAD_USER_INPUT'],
    ] as const)
      expect(
        (await provision({ parentid, ...wrong })).errors?.[0]?.extensions.code,
        JSON.stringify(wrong),
      ).to.equal(code);
    expect((await provision({ parentid })).errors).to.equal(undefined);
    expect((await provision({ parentid })).errors?.[0]?.extensions.code).to.equal('NAME_TAKEN');
  });
});

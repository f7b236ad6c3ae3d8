import { expect } from 'chai';
import { pino } from 'pino';
import { makeApiKey, readApiKey } from '../../../src/foundation/apiKeyText.js';
import {
  at,
  codeOf,
  PXADMIN_PASSWORD,
  ROOT_PASSWORD,
  textAt,
  WebFixture,
  type GraphqlResult,
} from '../webFixture.js';

const NOTES = '{ note { id } }';

describe('API keys', () => {
  let fixture: WebFixture;
  let beside: WebFixture;
  let lines = '';
  let tenantid: number;
  let root: string;

  before(async () => {
    const log = pino({ level: 'trace' }, { write: (line: string) => void (lines += line) });
    fixture = await WebFixture.start({ log, env: { SIGN_INS_PER_ADDRESS: '100' } });
    beside = await WebFixture.start({ beside: fixture });
  });
  after(async () => {
    await beside.stop();
    await fixture.stop();
  });
  beforeEach(async () => {
    ({ tenantid } = await fixture.createTenant(
      `shop${Math.random()}`,
      'create table note (id int primary key); insert into note values (1)',
    ));
    root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(
      root,
      'mutation { create_policy_rule(input: {name: "r", capabilities: ["select", "insert"], targets: ["note"]}) { ruleid } }',
    );
  });

  const pool = () => fixture.testDatabase.database.pool;
  const make = (token: string, input: object = {}): Promise<GraphqlResult> =>
    fixture.control(
      token,
      'mutation ($input: api_keyInput) { create_api_key(input: $input) { keyid roleid key hint capabilities expires last_used } }',
      { input: { name: `k${Math.random()}`, ...input } },
    );
  const keyOf = async (token: string, input: object = {}): Promise<{ key: string; keyid: string }> => {
    const made = await make(token, input);
    expect(made.errors).to.equal(undefined);
    return { key: textAt(made, 'data.create_api_key.key'), keyid: textAt(made, 'data.create_api_key.keyid') };
  };
  const server = async (capabilities: string[] = ['select', 'insert']): Promise<number> => {
    const made = await fixture.control(
      root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: { name: 'a server', capabilities } },
    );
    return Number(textAt(made, 'data.create_role.roleid'));
  };
  const use = (key: string, query = NOTES, web = fixture): Promise<GraphqlResult> =>
    web.graphql('/query', key, query);
  const status = async (key: string, web = fixture): Promise<number> =>
    (await web.postJson('/query', { query: NOTES }, { authorization: `Bearer ${key}` })).status;
  /** Within the time that takes effect everywhere. */
  const ends = async (key: string): Promise<void> => {
    const until = Date.now() + 10_000;
    while ((await status(key, beside)) === 200 && Date.now() < until)
      await new Promise((go) => setTimeout(go, 50));
    for (const web of [fixture, beside]) expect(await status(key, web)).to.equal(401);
  };

  it('act as their role at both endpoints, and are shown once', async () => {
    const roleid = await server();
    const made = await make(root, { roleid, expires: '2100-01-01T00:00:00Z' });
    const key = textAt(made, 'data.create_api_key.key');
    expect(key).to.match(/^rowpost_\d+_\d+_[0-9A-Za-z]{38}$/);
    expect(at(await use(key), 'data.note')).to.deep.equal([{ id: '1' }]);
    const listed = await fixture.control(key, '{ api_key { roleid key hint last_used } role { roleid } }');
    const hint = `${key.slice(0, key.lastIndexOf('_') + 5)}…${key.slice(-4)}`;
    expect(listed.data).to.deep.equal({
      api_key: [{ roleid, key: null, hint, last_used: null }],
      role: [{ roleid: String(roleid) }],
    });
    const { rows } = await pool().query<{ row: string }>(
      'select to_json(k)::text as row from rowpost.api_key k union all select to_json(e)::text from rowpost.audit_event e',
    );
    expect(rows.map(({ row }) => row).join())
      .to.include(hint)
      .and.not.include(key.slice(-20));
    // No part of it by a filter either.
    expect(codeOf(await fixture.control(root, '{ api_key(filter: "key is not null") { keyid } }'))).to.equal(
      'FILTER_UNKNOWN_COLUMN',
    );
    expect(
      codeOf(await fixture.control(root, '{ api_key(filter: "key_hash is not null") { keyid } }')),
    ).to.equal('FILTER_UNKNOWN_COLUMN');
  });

  it('store when they were last used, not with each request', async () => {
    const web = await WebFixture.start({ beside: fixture });
    const { key, keyid } = await keyOf(root, { roleid: await server() });
    const lastUsed = async (): Promise<Date | null> =>
      (
        await pool().query<{ last_used: Date | null }>(
          'select last_used from rowpost.api_key where keyid = $1',
          [keyid],
        )
      ).rows[0]!.last_used;
    await use(key, NOTES, web);
    expect(await lastUsed()).to.equal(null);
    await web.stop();
    expect(Date.now() - Number(await lastUsed())).to.be.lessThan(60_000);
  });

  it('cost no statement more than a token', async () => {
    const roleid = await server();
    const { key } = await keyOf(root, { roleid });
    const token = textAt(
      await fixture.control(root, `{ Utility { role_token(roleid: ${roleid}) } }`),
      'data.Utility.role_token',
    );
    const query = pool().query.bind(pool());
    /** Fewest of several rounds: roles are read once a second, and tables are checked now and then. */
    const statements = async (credential: string): Promise<number> => {
      const rounds: number[] = [];
      for (let round = 0; round < 8; round++) {
        await use(credential);
        rounds.push((await counting(credential)).calls);
      }
      return Math.min(...rounds);
    };
    const counting = async (credential: string): Promise<{ calls: number }> => {
      let calls = 0;
      pool().query = ((...args: Parameters<typeof query>) => {
        calls += 1;
        query(...args);
      }) as never;
      try {
        await Promise.all(Array.from({ length: 20 }, () => use(credential)));
      } finally {
        pool().query = query;
      }
      return { calls };
    };
    expect(await statements(token)).to.equal(0);
    expect(await statements(key)).to.equal(0);
  });

  it('may have fewer capabilities than the role, also in transactions and for roles below', async () => {
    const roleid = await server(['select', 'insert', 'create_role', 'update_role']);
    const insert = 'mutation { create_note(input: {id: 2}) { id } }';
    const { key: reads } = await keyOf(root, { roleid, capabilities: ['select', 'update_role'] });
    const { key: all } = await keyOf(root, { roleid });
    for (let time = 0; time < 2; time++) {
      expect(at(await use(reads), 'data.note.0.id')).to.equal('1');
      expect(codeOf(await use(reads, insert))).to.equal('PERMISSION_DENIED');
    }
    expect((await use(all, insert)).errors).to.equal(undefined);
    expect(codeOf(await use(reads, insert))).to.equal('PERMISSION_DENIED');
    const create = 'mutation { create_role(input: {name: "x"}) { roleid } }';
    expect(codeOf(await fixture.control(reads, create))).to.equal('PERMISSION_DENIED');
    const below = textAt(await fixture.control(all, create), 'data.create_role.roleid');
    for (const field of [
      `mutation { update_role(roleid: ${below}, input: {password: "another horse battery", login: "x", capabilities: []}) { roleid } }`,
      `{ Utility { role_token(roleid: ${below}) } }`,
      `mutation { Utility { end_sessions(roleid: ${below}) } }`,
    ])
      expect(codeOf(await fixture.control(reads, field)), field).to.equal('PERMISSION_DENIED');
    // Capabilities that the role loses, or never had, don't come with a key.
    const { key: more } = await keyOf(root, { roleid, capabilities: ['select', 'admin', 'delete'] });
    expect(codeOf(await fixture.control(more, '{ email_rule { ruleid } }'))).to.equal('PERMISSION_DENIED');
  });

  it('of the root role with fewer capabilities are not root', async () => {
    const { key } = await keyOf(root, { capabilities: ['view_role'] });
    expect(codeOf(await fixture.control(key, '{ email_rule { ruleid } }'))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await fixture.control(key, '{ Utility { anonymous_logins(enable: true) } }'))).to.equal(
      'PERMISSION_DENIED',
    );
    const { key: admin } = await keyOf(root, { capabilities: ['admin'] });
    expect((await fixture.control(admin, '{ email_rule { ruleid } }')).errors).to.equal(undefined);
    expect(codeOf(await fixture.control(admin, '{ Utility { anonymous_logins(enable: true) } }'))).to.equal(
      'PERMISSION_DENIED',
    );
    const config =
      'mutation { create_oidc_config(input: {providerid: 1, client_id: "c", client_secret: "s"}) { confid } }';
    expect(codeOf(await fixture.control(admin, config))).to.equal('PERMISSION_DENIED');
  });

  it('make no keys, passwords or logins, nor do tokens that come from them', async () => {
    const { key } = await keyOf(root);
    expect(codeOf(await make(key))).to.equal('PERMISSION_DENIED');
    const own = await fixture.control(
      key,
      `mutation { update_role(roleid: 1, input: {name: "x"}) { roleid } }`,
    );
    expect(codeOf(own)).to.not.equal(undefined);
    const rootRoleid = Number(readApiKey(key)?.roleid);
    for (const input of ['password: "another horse battery"', 'login: "x"'])
      expect(
        codeOf(
          await fixture.control(
            key,
            `mutation { update_role(roleid: ${rootRoleid}, input: {${input}}) { roleid } }`,
          ),
        ),
      ).to.equal('REAUTHENTICATION_REQUIRED');
    const child = await fixture.createMember(key, 'child', ['login', 'create_role']);
    const grandchild = await fixture.createMember(child.token, 'grandchild', ['login']);
    expect(codeOf(await make(child.token, { roleid: grandchild.roleid }))).to.equal('PERMISSION_DENIED');
    const { rows } = await pool().query<{ keyid: string | null }>(
      "select keyid from rowpost.audit_event where tenantid = $1 and object = 'role' order by time desc limit 1",
      [tenantid],
    );
    expect(rows[0]?.keyid).to.be.a('string');
  });

  it('are for roles that one may act for, and for oneself only after signing in', async () => {
    const boss = await fixture.createMember(root, 'boss', ['login', 'create_role']);
    const strong = await fixture.createMember(root, 'strong', ['login', 'select'], boss.roleid);
    const beside = await fixture.createMember(root, 'beside', ['login']);
    expect(codeOf(await make(boss.token, { roleid: strong.roleid }))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await make(boss.token, { roleid: beside.roleid }))).to.equal('NOT_FOUND');
    const other = await fixture.createTenant(`other${Math.random()}`);
    expect(codeOf(await make(root, { roleid: other.rootRoleid }))).to.equal('NOT_FOUND');
    const { keyid } = await keyOf(root, { roleid: beside.roleid });
    const remove = `mutation { delete_api_key(keyid: "${keyid}") { keyid } }`;
    const otherRoot = (await fixture.signIn(other.tenantid)).access_token;
    expect(codeOf(await fixture.control(boss.token, remove))).to.equal('NOT_FOUND');
    expect(codeOf(await fixture.control(otherRoot, remove))).to.equal('NOT_FOUND');
    expect(at(await fixture.control(otherRoot, '{ api_key { keyid } }'), 'data.api_key')).to.deep.equal([]);
    await pool().query('select'); // the token of root is fresh; that of an hour ago is not
    const old = await WebFixture.start({
      beside: fixture,
      clock: { now: () => Date.now() - 1_200_000 },
    });
    const oldToken = (await old.signIn(tenantid)).access_token;
    await old.stop();
    expect(codeOf(await make(oldToken))).to.equal('REAUTHENTICATION_REQUIRED');
    expect((await make(oldToken, { current_password: ROOT_PASSWORD })).errors).to.equal(undefined);
    expect(codeOf(await make(root, { expires: '2001-01-01T00:00:00Z' }))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await make(root, { capabilities: ['fly'] }))).to.equal('UNKNOWN_CAPABILITY');
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const body: unknown = await (await fixture.postJson('/anonauth', { tenantid })).json();
    expect(codeOf(await make(textAt(body, 'access_token')))).to.equal('PERMISSION_DENIED');
    expect(codeOf(await make(root, { roleid: Number(at(body, 'roleid')) }))).to.equal('BAD_USER_INPUT');
  });

  it('end at once when deleted, with the tokens that came from them', async () => {
    const roleid = await server(['login', 'create_role']);
    const { key, keyid } = await keyOf(root, { roleid });
    const child = await fixture.createMember(key, 'child', ['login']);
    expect(await status(key, beside)).to.equal(200);
    expect(
      (await fixture.control(root, `mutation { delete_api_key(keyid: "${keyid}") { keyid } }`)).errors,
    ).to.equal(undefined);
    expect(await status(key)).to.equal(401);
    await ends(key);
    await ends(child.token);
  });

  for (const [what, change] of [
    [
      'a new password',
      (roleid: number) =>
        `update_role(roleid: ${roleid}, input: {password: "another horse battery"}) { roleid }`,
    ],
    ['a deletion', (roleid: number) => `delete_role(roleid: ${roleid}) { roleid }`],
    [
      'a lost capability to sign in',
      (roleid: number) => `update_role(roleid: ${roleid}, input: {capabilities: ["select"]}) { roleid }`,
    ],
    ['the end of all sessions', (roleid: number) => `Utility { end_sessions(roleid: ${roleid}) }`],
  ] as const) {
    it(`end with ${what}, and don't return`, async () => {
      const roleid = await server(['login', 'select']);
      const { key } = await keyOf(root, { roleid });
      expect(await status(key, beside)).to.equal(200);
      expect((await fixture.control(root, `mutation { ${change(roleid)} }`)).errors).to.equal(undefined);
      await ends(key);
      await fixture.control(
        root,
        `mutation { update_role(roleid: ${roleid}, input: {deleted: false, capabilities: ["login", "select"]}) { roleid } }`,
      );
      await ends(key);
    });
  }

  it('are refused while the tenant is suspended, and after they expired', async () => {
    const roleid = await server();
    const { key } = await keyOf(root, { roleid });
    const pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    const suspend = (value: boolean) =>
      fixture.control(
        pxadmin,
        `mutation { update_tenant(tenantid: ${tenantid}, input: {suspended: ${value}}) { tenantid } }`,
      );
    await suspend(true);
    expect(codeOf(await use(key))).to.equal(undefined);
    expect(await status(key)).to.equal(403);
    await suspend(false);
    expect(await status(key)).to.equal(200);
    const { key: short } = await keyOf(root, { roleid, expires: new Date(Date.now() + 700).toISOString() });
    expect(await status(short)).to.equal(200);
    await ends(short);
  });

  it('are refused where only tokens are meant', async () => {
    const { key } = await keyOf(root);
    const headers = { authorization: `Bearer ${key}` };
    expect((await fixture.fetch('/auth', { headers })).status).to.equal(422);
    expect((await fixture.fetch('/oidc/logout', { method: 'POST', headers })).status).to.be.oneOf([401, 422]);
    expect((await fixture.postJson('/query', { query: NOTES }, { authorization: key })).status).to.equal(401);
    expect(
      (await fixture.fetch(`/query?query=${encodeURIComponent(NOTES)}&access_token=${key}`)).status,
    ).to.equal(401);
  });

  it('are found out by their checksum, and those who guess are refused, but nobody else', async () => {
    const { key } = await keyOf(root, { roleid: await server() });
    expect(await status(key)).to.equal(200);
    const wrong = [
      key.slice(0, -1),
      `${key}x`,
      key.replace('rowpost_', 'rowpost_1'),
      key.slice(0, -1) + (key.endsWith('a') ? 'b' : 'a'),
    ];
    for (const each of wrong) expect(await status(each), each).to.equal(422);
    const web = await WebFixture.start({ beside: fixture, env: { SIGN_INS_PER_ADDRESS: '20' } });
    expect(await status(key, web)).to.equal(200);
    const { roleid } = readApiKey(key)!;
    for (let n = 0; n < 20; n++) expect(await status(makeApiKey(tenantid, roleid), web)).to.equal(401);
    expect(await status(makeApiKey(tenantid, roleid), web)).to.equal(429);
    expect(await status(key, web)).to.equal(200);
    await web.stop();
  });

  it('are at most twenty of a role, also if made at the same time', async () => {
    const roleid = await server();
    const made: GraphqlResult[] = [];
    await Promise.all(
      [0, 1, 2].map(async () => {
        for (let n = 0; n < 8; n++) made.push(await make(root, { roleid }));
      }),
    );
    expect(made.filter(({ errors }) => !errors)).to.have.length(20);
    expect(made.flatMap((each) => codeOf(each) ?? [])).to.deep.equal(
      Array.from({ length: 4 }, () => 'BAD_USER_INPUT'),
    );
    const name = { roleid: await server(), name: 'same' };
    const both = await Promise.all([make(root, name), make(root, name)]);
    expect(both.map(codeOf)).to.have.members([undefined, 'NAME_TAKEN']);
  });

  it('are not kept for long after they expired', async () => {
    const roleid = await server();
    await make(root, { roleid });
    const { pool } = fixture.testDatabase.database;
    await pool.query(
      `insert into rowpost.api_key (tenantid, roleid, name, key_hash, hint, state_ms, expires)
       select tenantid, roleid, 'old ' || n, key_hash, hint, state_ms, now() - n * interval '1 second'
       from rowpost.api_key, generate_series(1, 50) n where roleid = $1`,
      [roleid],
    );
    await make(root, { roleid });
    const { rows } = await pool.query<{ name: string }>(
      'select name from rowpost.api_key where roleid = $1 order by expires desc nulls first',
      [roleid],
    );
    expect(rows).to.have.length(22);
    expect([rows[2]?.name, rows[21]?.name]).to.deep.equal(['old 1', 'old 20']);
  });

  it('are in no log', () => {
    expect(lines).to.include('/roles_pbac');
    expect(lines).to.not.match(/rowpost_\d+_\d+_[0-9A-Za-z]{5}/);
  });
});

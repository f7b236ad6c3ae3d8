import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { buildControlSchema } from '../../src/control/controlSchema.js';
import { OBJECTS } from '../../src/control/objects/index.js';
import { pruneAuditEvents } from '../../src/db/roles/auditEvents.js';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { at, codeOf, PXADMIN_PASSWORD, textAt, WebFixture } from '../api/webFixture.js';
import { LOGIN, startFakeSmtp, type FakeSmtp } from '../support/fakeSmtp.js';
import { createObjects, mutations } from './everyMutation.js';

interface Event {
  readonly roleid: number;
  readonly login: string | null;
  readonly actors: readonly number[];
  readonly object: string;
  readonly key: string | null;
  readonly operation: string;
  readonly changes: readonly {
    readonly column: string;
    readonly before: unknown;
    readonly after: unknown;
  }[];
}

const FIELDS = 'roleid login actors object key operation changes';
/** Sends an email, and changes nothing. */
const CHANGES_NOTHING = ['Utility.send_test_email'];
/** Those that later mutations need go last. */
const LAST = ['delete_oidc_config', 'delete_role_class', 'delete_role', 'delete_tenant'];

describe('the audit log (audit_event)', () => {
  let fixture: WebFixture;
  let server: FakeSmtp;
  let tenant: CreatedTenant;
  let pxadmin: string;
  let root: string;
  let otherRoot: string;

  before(async () => {
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    fixture = await WebFixture.start({ env: { MAIL_TRANSPORT: 'sendgrid', SEND_DEADLINE_MS: '1000' } });
    tenant = await fixture.createTenant('shop', 'create table note (id int primary key)');
    const other = await fixture.createTenant('other', 'create table note (id int primary key)');
    pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    otherRoot = (await fixture.signIn(other.tenantid)).access_token;
  });
  after(async () => {
    await fixture.stop();
    await server.stop();
  });

  const query = async <Row extends object>(sql: string, values: unknown[] = []): Promise<Row[]> =>
    (await fixture.testDatabase.database.pool.query<Row>(sql, values)).rows;
  /** Newest last. */
  const events = (where = 'true', values: unknown[] = []): Promise<Event[]> =>
    query<Event>(`select * from rowpost.audit_event where ${where} order by time`, values);
  const last = async (): Promise<Event> => (await events()).at(-1)!;
  const smtp = (rest: object): object => ({
    host: '127.0.0.1',
    port: server.port,
    security: 'none',
    ...rest,
  });
  const done = async (token: string, mutation: string, variables?: object): Promise<unknown> => {
    const { data, errors } = await fixture.control(token, mutation, variables);
    expect(errors, `${mutation} ${JSON.stringify(errors)}`).to.equal(undefined);
    return data;
  };

  describe('of every mutation', () => {
    let ids: Readonly<Record<string, string>>;
    let all: Readonly<Record<string, string>>;
    before(async () => {
      ids = await createObjects(fixture, tenant, { pxadmin, root, 'other root': otherRoot });
      await query(
        `insert into rowpost.delivery (deliveryid, tenantid, eventid, ruleid, email_type, operation, target, key, delivery, state, createtime, tracked)
         overriding system value values (1, $1, 1, 1, 'hello', 'insert', 'note', '{}', 'at_least_once', 'failed', now(), true)`,
        [tenant.tenantid],
      );
      const spare = await done(
        pxadmin,
        `mutation { create_oidc_providers(input: {name: "spare", auth_uri: "https://p.example/",
          token_uri: "https://p.example/", jwks_uri: "https://p.example/"}) { providerid } }`,
      );
      const spareProvider = textAt(spare, 'create_oidc_providers.providerid');
      all = {
        ...mutations(tenant.tenantid, ids),
        'Utility.set_email_transport': `Utility { set_email_transport(input: {kind: "smtp", host: "127.0.0.1", port: ${server.port},
          security: "none", username: "${LOGIN.username}", password: "${LOGIN.password}"}) { set_time } }`,
        delete_oidc_providers: `delete_oidc_providers(providerid: ${spareProvider}) { providerid }`,
        'Utility.set_captures': 'Utility { set_captures(tables: ["note"], writers: all) { table } }',
      };
    });

    it('has a row of who, what and how, in the transaction', async () => {
      const order = (name: string): number => (name.startsWith('delete_') ? 2 + LAST.indexOf(name) : 0);
      const names = Object.keys(all).sort((a, b) => order(a) - order(b));
      const missing: string[] = [];
      for (const name of names) {
        const isOperators = /_(tenant|oidc_providers)$/.test(name);
        const token = isOperators ? pxadmin : root;
        const theirs = (): Promise<Event[]> => events('tenantid = $1', [isOperators ? 0 : tenant.tenantid]);
        const before = (await theirs()).length;
        if (
          !CHANGES_NOTHING.includes(name) &&
          name !== 'Utility.set_captures' &&
          name !== 'Utility.set_email_transport'
        ) {
          // What is rolled back has none.
          await fixture.control(
            token,
            `mutation { ${all[name]} rollback: delete_role(roleid: "0") { roleid } }`,
          );
          expect((await theirs()).length, `${name}, rolled back`).to.equal(before);
        }
        await done(token, `mutation { ${all[name]} }`);
        const added = (await theirs()).slice(before);
        if (added.length !== 1) missing.push(name);
        if (added.length === 0) continue;
        const [event] = added as [Event];
        const [, change, singular] = /^(create|update|delete)_(.*)$/.exec(name) ?? [];
        const object = OBJECTS.find((each) => (each.singular ?? each.table) === singular);
        expect(event.operation, name).to.equal(object ? change : name.replace('Utility.', ''));
        if (object) expect(event.object, name).to.equal(object.table);
        expect(event.login, name).to.equal(isOperators ? 'pxadmin' : 'root');
        const isNamed = object !== undefined && change !== undefined;
        if (isNamed) expect(event.key, name).to.be.a('string').that.is.not.equal('');
      }
      expect(missing).to.deep.equal(CHANGES_NOTHING);
    });

    it('covers the schema', () => {
      const schema = buildControlSchema();
      const utility = schema.getType('UtilityMutation') as { getFields(): object } | undefined;
      expect(Object.keys(all)).to.include.members([
        ...Object.keys(schema.getMutationType()!.getFields()).filter((name) => name !== 'Utility'),
        ...Object.keys(utility!.getFields()).map((name) => `Utility.${name}`),
      ]);
    });
  });

  describe('of a tenant', () => {
    let shop: CreatedTenant;
    let owner: string;
    beforeEach(async () => {
      shop = await fixture.createTenant(`shop${Math.random()}`, 'create table note (id int primary key)');
      owner = (await fixture.signIn(shop.tenantid)).access_token;
    });
    const shown = async (token: string, filter = ''): Promise<Event[]> => {
      const list =
        '($filter: String) { audit_event(filter: $filter, ordering: ["time"]) { ' + FIELDS + ' } }';
      const result = await fixture.control(token, `query ${list}`, { filter });
      expect(result.errors).to.equal(undefined);
      return at(result, 'data.audit_event') as Event[];
    };

    it('shows what was and what is, of columns that changed', async () => {
      await done(owner, 'mutation { set_email_apikey(apikey: "k") { apikey } }');
      await done(
        owner,
        `mutation { create_email_type(input: {email_type: "hi", template: "${'x'.repeat(3_000)}", subject: "one",
          recipients: ["a@example.com"], sender: "b@example.com"}) { email_type } }`,
      );
      await done(
        owner,
        'mutation { update_email_type(email_type: "hi", input: {subject: "two"}) { email_type } }',
      );
      const [made, changed] = (await shown(owner)).slice(-2) as [Event, Event];
      expect(changed).to.deep.equal({
        roleid: shop.rootRoleid,
        login: 'root',
        actors: [],
        object: 'email_types',
        key: 'hi',
        operation: 'update',
        changes: [
          { column: 'subject', before: 'one', after: 'two' },
          { column: 'version', before: 1, after: 2 },
        ],
      });
      const template = made.changes.find(({ column }) => column === 'template')!;
      expect(template.after).to.equal(`${'x'.repeat(2_000)}…`);
    });

    it('names the roles that acted as another', async () => {
      const child = await fixture.createMember(owner, 'child', ['login', 'create_role']);
      await done(child.token, 'mutation { create_role(input: {name: "below"}) { roleid } }');
      const event = await last();
      expect(event).to.include({ roleid: child.roleid, login: 'child' });
      expect(event.actors).to.deep.equal([shop.rootRoleid]);
    });

    it('shows a role its own changes, and those of roles below it that have nothing that it lacks', async () => {
      const member = (maker: string, login: string, capabilities: string[], parentid?: number) =>
        fixture.createMember(maker, login, ['login', ...capabilities], parentid);
      const boss = await member(owner, 'boss', ['create_role', 'update_role']);
      const clerk = await member(owner, 'clerk', ['create_role'], boss.roleid);
      const below = await member(owner, 'below', ['create_role'], clerk.roleid);
      const strong = await member(owner, 'strong', ['create_role', 'create_class'], boss.roleid);
      const named = await member(owner, 'named', ['create_role'], boss.roleid);
      const inClass = await member(owner, 'inClass', ['create_role'], boss.roleid);
      const beside = await member(owner, 'beside', ['create_role']);
      await done(
        owner,
        `mutation { create_policy_rule(input: {name: "p", capabilities: ["select"], targets: ["note"], roles: [${named.roleid}]}) { ruleid }
          create_role_class(input: {name: "c", members: [${inClass.roleid}]}) { classid } }`,
      );
      const makers = { boss, clerk, below, strong, named, inClass, beside };
      for (const [login, { token }] of Object.entries(makers))
        await done(token, `mutation { create_role(input: {name: "of ${login}"}) { roleid } }`);
      const logins = async (token: string): Promise<(string | null)[]> => [
        ...new Set((await shown(token)).map(({ login }) => login)),
      ];
      expect(await logins(boss.token)).to.deep.equal(['boss', 'clerk', 'below']);
      expect(await logins(clerk.token)).to.deep.equal(['clerk', 'below']);
      expect(await logins(beside.token)).to.deep.equal(['beside']);
      expect(await logins(owner)).to.deep.equal(['root', ...Object.keys(makers)]);
      // By a filter on the role, too, nothing shows of what is hidden.
      expect(await shown(boss.token, "login = 'strong' or role.login = 'strong'")).to.deep.equal([]);
      expect(await shown(otherRoot, `roleid = ${boss.roleid}`)).to.deep.equal([]);
    });

    it('shows anonymous clients nothing, also of what they did', async () => {
      await done(owner, '{ Utility { anonymous_logins(enable: true) } }');
      const change = await last();
      expect(change.changes).to.deep.equal([{ column: 'anonymous_logins', before: false, after: true }]);
      const body: unknown = await (await fixture.postJson('/anonauth', { tenantid: shop.tenantid })).json();
      const nobody = textAt(body, 'access_token');
      await done(
        nobody,
        'mutation { create_role(input: {login: "me", password: "a password of mine"}) { roleid } }',
      );
      const theirs = await fixture.control(nobody, '{ audit_event { login } }');
      expect(codeOf(theirs)).to.equal('PERMISSION_DENIED');
      expect((await shown(owner)).at(-1)).to.include({
        login: 'Nobody',
        operation: 'create',
        object: 'role',
      });
    });

    it('can’t be changed by anyone', async () => {
      const names = Object.keys(buildControlSchema().getMutationType()!.getFields());
      expect(names.filter((name) => name.includes('audit'))).to.deep.equal([]);
      const refused = await fixture.control(
        owner,
        'mutation { delete_audit_event(eventid: "x") { eventid } }',
      );
      expect(codeOf(refused)).to.equal('GRAPHQL_VALIDATION');
    });
  });

  it('never has a secret, a hash of one, or what encrypts to one', async () => {
    const { tenantid } = await fixture.createTenant('secret', 'create table note (id int primary key)');
    const owner = (await fixture.signIn(tenantid)).access_token;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const secrets: string[] = ['root correct horse battery', LOGIN.password, pem.slice(100, 150)];
    const secret = (name: string): string => {
      secrets.push(`hushed staple ${name}`);
      return `hushed staple ${name}`;
    };
    const before = (await events()).length;
    const make = (mutation: string, input: object, token = owner): Promise<unknown> =>
      done(token, mutation, { input });
    await make(
      'mutation ($input: tenantInput) { create_tenant(input: $input) { tenantid } }',
      {
        name: 'made',
        root_login: 'r',
        root_password: secret('tenant'),
      },
      pxadmin,
    );
    const role = textAt(
      await make('mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
        login: 'someone',
        password: secret('role'),
      }),
      'create_role.roleid',
    );
    await make(`mutation ($input: roleInput) { update_role(roleid: ${role}, input: $input) { roleid } }`, {
      password: secret('role again'),
    });
    await make(
      `mutation ($input: roleInput) { update_role(roleid: ${(await last()).roleid}, input: $input) { roleid } }`,
      {
        password: secret('own'),
        current_password: 'correct horse battery',
      },
    );
    const own = (await fixture.signIn(tenantid, 'root', 'hushed staple own')).access_token;
    const provider = textAt(
      await make(
        'mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) { providerid } }',
        {
          name: 'p',
          auth_uri: 'https://p.example/',
          token_uri: 'https://p.example/',
          jwks_uri: 'https://p.example/',
        },
        pxadmin,
      ),
      'create_oidc_providers.providerid',
    );
    const config = textAt(
      await make(
        'mutation ($input: oidc_configInput) { create_oidc_config(input: $input) { confid client_secret } }',
        {
          providerid: Number(provider),
          client_id: 'c',
          client_secret: secret('client'),
        },
        own,
      ),
      'create_oidc_config.confid',
    );
    await make(
      `mutation ($input: oidc_configInput) { update_oidc_config(confid: ${config}, input: $input) { confid } }`,
      {
        client_secret: secret('client again'),
      },
      own,
    );
    await done(own, `mutation { create_oidc_key(input: {confid: ${config}}) { kid } }`);
    await done(
      own,
      `mutation { set_email_apikey(apikey: "${secret('key').replaceAll(' ', '.')}") { apikey } }`,
    );
    secrets.push('hushed.staple.key');
    await make(
      'mutation ($input: email_transportInput!) { Utility { set_email_transport(input: $input) { set_time } } }',
      {
        ...smtp({ kind: 'smtp', ...LOGIN, dkim: { domain: 'example.com', selector: 's', private_key: pem } }),
      },
      own,
    );
    const webhook = 'bm90IGEgc2VjcmV0IGJ1dCBsb25nIGVub3VnaA==';
    secrets.push(webhook);
    for (const kind of ['mailgun', 'resend']) {
      const given = kind === 'resend' ? `whsec_${webhook}` : webhook.slice(0, 32);
      secrets.push(webhook.slice(0, 32));
      await make(
        'mutation ($input: email_carrier_webhookInput!) { Utility { set_email_webhook(input: $input) { url } } }',
        { kind, secret: given },
        own,
      );
    }
    const rows = await query<{ row: string }>(
      'select to_json(e)::text as row from rowpost.audit_event e order by time',
    );
    expect(rows.length - before).to.be.greaterThan(11);
    const text = rows.map(({ row }) => row).join('\n');
    for (const hidden of secrets) expect(text).to.not.include(hidden);
    const stored = await query<{ value: string }>(
      `select password_hash as value from rowpost.role where password_hash is not null
       union all select client_secret_encrypted from rowpost.oidc_config
       union all select private_jwk_encrypted from rowpost.oidc_key
       union all select apikey_encrypted from rowpost.email_apikey where apikey_encrypted <> ''
       union all select accounts_encrypted from rowpost.email_apikey where accounts_encrypted is not null
       union all select secret_encrypted from rowpost.carrier_webhook`,
    );
    expect(stored.length).to.be.greaterThan(8);
    for (const { value } of stored) expect(text).to.not.include(value);
    expect(text).to.not.match(/eyJ[\w-]+\.|scrypt\$/);
    const hiddenColumns = OBJECTS.flatMap(({ columns }) =>
      Object.entries(columns).flatMap(([name, { secret: isSecret, inputOnly }]) =>
        isSecret || inputOnly ? [name] : [],
      ),
    );
    expect(hiddenColumns).to.include.members(['password', 'client_secret', 'root_password']);
    for (const name of hiddenColumns)
      expect(text).to.not.include(`"column":"${name}"`).and.not.include(`"column": "${name}"`);
  });

  it('keeps events for as long as it says', async () => {
    const { tenantid } = await fixture.createTenant('old');
    const owner = (await fixture.signIn(tenantid)).access_token;
    for (const name of ['a', 'b'])
      await done(owner, `mutation { create_role(input: {name: "${name}"}) { roleid } }`);
    await query(
      `update rowpost.audit_event set time = time - interval '366 days' where tenantid = $1
       and changes @> '[{"column": "name", "after": "a"}]'`,
      [tenantid],
    );
    await pruneAuditEvents(fixture.testDatabase.database.pool, 365);
    const kept = await events('tenantid = $1', [tenantid]);
    expect(kept.map(({ changes }) => changes.find(({ column }) => column === 'name')?.after)).to.deep.equal([
      'b',
    ]);
  });
});

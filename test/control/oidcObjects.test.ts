import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { deleteTenant } from '../../src/control/tenants/tenants.js';
import { KeyRing } from '../../src/config/secrets.js';
import { at, codeOf, textAt, PXADMIN_PASSWORD, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { TEST_SECRET_KEYS } from '../support/testConfig.js';
import { knexOf } from '../support/knexOf.js';
import { inTransaction } from '../../src/db/pool/inTransaction.js';

const CREATE_PROVIDER = `mutation ($input: oidc_providersInput) { create_oidc_providers(input: $input) {
  providerid name auth_uri token_uri jwks_uri comparison_field issuer tenantid } }`;
const CREATE_CONFIG = `mutation ($input: oidc_configInput) { create_oidc_config(input: $input) {
  confid providerid client_id client_secret_uuid createtime client_secret } }`;
const UPDATE_CONFIG = `mutation ($confid: ID!, $input: oidc_configInput) {
  update_oidc_config(confid: $confid, input: $input) { confid client_id client_secret client_secret_uuid } }`;
const CREATE_MAPPING =
  'mutation ($input: role_oidcInput) { create_role_oidc(input: $input) { roleid confid sub_id } }';
const UPDATE_MAPPING = `mutation ($roleid: ID!, $confid: ID!, $input: role_oidcInput) {
  update_role_oidc(roleid: $roleid, confid: $confid, input: $input) { roleid confid sub_id } }`;
const DELETE_MAPPING =
  'mutation ($roleid: ID!, $confid: ID!) { delete_role_oidc(roleid: $roleid, confid: $confid) { sub_id } }';

const PROVIDER = {
  name: 'login.example',
  auth_uri: 'https://login.example/authorize',
  token_uri: 'https://login.example/token',
  jwks_uri: 'https://login.example/keys',
};

describe('roles_pbac: OpenID Connect objects', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  let pxadmin: string;
  let root: string;
  let otherRoot: string;
  let providerid: number;
  let confid: string;
  let otherConfid: string;

  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant('shop');
    const other = await fixture.createTenant('other');
    pxadmin = (await fixture.signIn(0, 'pxadmin', PXADMIN_PASSWORD)).access_token;
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    otherRoot = (await fixture.signIn(other.tenantid)).access_token;
    providerid = Number(
      textAt(
        await fixture.control(pxadmin, CREATE_PROVIDER, { input: PROVIDER }),
        'data.create_oidc_providers.providerid',
      ),
    );
    confid = await newConfig(root);
    otherConfid = await newConfig(otherRoot);
  });
  after(() => fixture.stop());

  async function newConfig(token: string, input: object = {}): Promise<string> {
    const made = await fixture.control(token, CREATE_CONFIG, {
      input: { providerid, client_id: 'rowpost', client_secret: 'hush', ...input },
    });
    return textAt(made, 'data.create_oidc_config.confid');
  }

  describe('oidc_providers', () => {
    it('are created by the installation root, with sub as the default claim', async () => {
      const input = { ...PROVIDER, name: 'second', issuer: 'https://login.example' };
      const made = await fixture.control(pxadmin, CREATE_PROVIDER, { input });
      expect(made.errors).to.equal(undefined);
      expect(at(made, 'data.create_oidc_providers')).to.deep.include({
        ...input,
        comparison_field: 'sub',
        tenantid: null,
      });
    });

    it("can't be created, updated or deleted by anyone else", async () => {
      for (const mutation of [
        'create_oidc_providers(input: {name: "x"}) { providerid }',
        `update_oidc_providers(providerid: ${providerid}, input: {name: "x"}) { providerid }`,
        `delete_oidc_providers(providerid: ${providerid}) { providerid }`,
      ]) {
        expect(codeOf(await fixture.control(root, `mutation { ${mutation} }`))).to.equal('PERMISSION_DENIED');
      }
    });

    it("are listed for every role: global ones and the tenant's own", async () => {
      const own = { ...PROVIDER, name: 'hosted', comparison_field: 'oid', tenantid: tenant.tenantid };
      await fixture.control(pxadmin, CREATE_PROVIDER, { input: own });
      const { token } = await fixture.createMember(root, 'reader', ['login']);
      const list = '{ oidc_providers(filter: "comparison_field = \'oid\'") { name comparison_field } }';
      expect((await fixture.control(token, list)).data).to.deep.equal({
        oidc_providers: [{ name: 'hosted', comparison_field: 'oid' }],
      });
      expect((await fixture.control(otherRoot, list)).data).to.deep.equal({ oidc_providers: [] });
    });

    it('must have URLs', async () => {
      for (const uri of [
        '',
        'login.example',
        'ftp://login.example',
        'https://u:p@login.example/',
        'https://x/#y',
      ]) {
        const result = await fixture.control(pxadmin, CREATE_PROVIDER, {
          input: { ...PROVIDER, name: 'bad', token_uri: uri },
        });
        expect(codeOf(result), uri).to.equal('BAD_USER_INPUT');
        expect(result.errors?.[0]?.extensions['field']).to.equal('token_uri');
      }
    });

    it("are updated partially, and can't be deleted while configurations use them", async () => {
      const changed = await fixture.control(
        pxadmin,
        `mutation { update_oidc_providers(providerid: ${providerid}, input: {comparison_field: "email"}) {
          name comparison_field } }`,
      );
      expect(at(changed, 'data.update_oidc_providers')).to.deep.equal({
        name: PROVIDER.name,
        comparison_field: 'email',
      });
      const gone = await fixture.control(
        pxadmin,
        `mutation { delete_oidc_providers(providerid: ${providerid}) { providerid } }`,
      );
      expect(codeOf(gone)).to.equal('OIDC_PROVIDER_IN_USE');
    });

    it("can't be withdrawn from tenants registered with them", async () => {
      const result = await fixture.control(
        pxadmin,
        `mutation { update_oidc_providers(providerid: ${providerid}, input: {tenantid: ${tenant.tenantid}}) { providerid } }`,
      );
      expect(codeOf(result)).to.equal('BAD_USER_INPUT');
    });
  });

  describe('oidc_config', () => {
    it('returns its secret on creation, and never again', async () => {
      const made = await fixture.control(root, CREATE_CONFIG, {
        input: { providerid, client_id: 'rowpost', client_secret: 'very hush' },
      });
      expect(made.errors).to.equal(undefined);
      const created = at(made, 'data.create_oidc_config');
      expect(created).to.deep.include({ providerid, client_id: 'rowpost', client_secret: 'very hush' });
      const id = textAt(created, 'confid');
      const listed = await fixture.control(
        root,
        `{ oidc_config(filter: "confid = ${id}") { client_id client_secret client_secret_uuid } }`,
      );
      expect(listed.data).to.deep.equal({
        oidc_config: [
          {
            client_id: 'rowpost',
            client_secret: null,
            client_secret_uuid: textAt(created, 'client_secret_uuid'),
          },
        ],
      });
      const filtered = await fixture.control(
        root,
        '{ oidc_config(filter: "client_secret != null") { confid } }',
      );
      expect(codeOf(filtered)).to.equal('FILTER_UNKNOWN_COLUMN');
    });

    it('is stored encrypted, bound to its id', async () => {
      const id = await newConfig(root, { client_secret: 'deep secret' });
      const row = (await knexOf(fixture.testDatabase.database)('rowpost.oidc_config')
        .where({ confid: id })
        .first()) as Record<string, string>;
      expect(JSON.stringify(row)).not.to.include('deep secret');
      const keyRing = KeyRing.parse(TEST_SECRET_KEYS);
      const stored = row['client_secret_encrypted'] ?? '';
      expect(keyRing.decrypt(stored, `oidc_config:${id}`)).to.equal('deep secret');
      expect(() => keyRing.decrypt(stored, 'oidc_config:1')).to.throw();
    });

    it('gets a new client_secret_uuid only with a new secret', async () => {
      const id = await newConfig(root);
      const uuid = async (input: object): Promise<unknown> =>
        at(await fixture.control(root, UPDATE_CONFIG, { confid: id, input }), 'data.update_oidc_config');
      const before = await uuid({ client_id: 'renamed' });
      expect(before).to.deep.include({ client_id: 'renamed', client_secret: null });
      const after = await uuid({ client_secret: 'another' });
      expect(at(after, 'client_secret')).to.equal(null);
      expect(at(after, 'client_secret_uuid')).not.to.equal(at(before, 'client_secret_uuid'));
    });

    it("is for the tenant's root role, not for admins", async () => {
      const { token } = await fixture.createMember(root, 'administrator', ['login', 'admin']);
      const made = await fixture.control(token, CREATE_CONFIG, {
        input: { providerid, client_id: 'x', client_secret: 'x' },
      });
      expect(codeOf(made)).to.equal('PERMISSION_DENIED');
      const foreign = await fixture.control(otherRoot, UPDATE_CONFIG, { confid, input: { client_id: 'x' } });
      expect(codeOf(foreign)).to.equal('NOT_FOUND');
    });

    it("can't name a provider that is missing or another tenant's", async () => {
      const hosted = await fixture.control(pxadmin, CREATE_PROVIDER, {
        input: { ...PROVIDER, name: "shop's own", tenantid: tenant.tenantid },
      });
      const own = Number(textAt(hosted, 'data.create_oidc_providers.providerid'));
      for (const id of [own, 999_999]) {
        const result = await fixture.control(otherRoot, CREATE_CONFIG, {
          input: { providerid: id, client_id: 'x', client_secret: 'x' },
        });
        expect(codeOf(result)).to.equal('OIDC_PROVIDER_NOT_FOUND');
      }
    });
  });

  describe('role_oidc', () => {
    const map = (token: string, roleid: number, sub_id = 'ada', through = confid): Promise<GraphqlResult> =>
      fixture.control(token, CREATE_MAPPING, { input: { roleid, confid: through, sub_id } });

    it('is created, updated and deleted by every role for itself', async () => {
      const { token, roleid } = await fixture.createMember(root, 'ada', ['login']);
      expect((await map(token, roleid)).data).to.deep.equal({
        create_role_oidc: { roleid: String(roleid), confid, sub_id: 'ada' },
      });
      const changed = await fixture.control(token, UPDATE_MAPPING, {
        roleid,
        confid,
        input: { sub_id: 'lovelace' },
      });
      expect(at(changed, 'data.update_role_oidc.sub_id')).to.equal('lovelace');
      expect(codeOf(await map(token, roleid))).to.equal('NAME_TAKEN');
      const gone = await fixture.control(token, DELETE_MAPPING, { roleid, confid });
      expect(gone.data).to.deep.equal({ delete_role_oidc: { sub_id: 'lovelace' } });
      expect(codeOf(await fixture.control(token, DELETE_MAPPING, { roleid, confid }))).to.equal('NOT_FOUND');
    });

    it('is created for others only by holders of create_role, for roles below them', async () => {
      const maker = await fixture.createMember(root, 'maker', ['login', 'create_role']);
      const below = await fixture.createMember(maker.token, 'below', ['login']);
      const plain = await fixture.createMember(root, 'plain', ['login']);
      expect((await map(maker.token, below.roleid)).errors).to.equal(undefined);
      expect(codeOf(await map(maker.token, plain.roleid))).to.equal('NOT_FOUND');
      expect(codeOf(await map(maker.token, tenant.rootRoleid))).to.equal('PERMISSION_DENIED');
      expect(codeOf(await map(plain.token, below.roleid))).to.equal('PERMISSION_DENIED');
      expect((await map(root, plain.roleid)).errors).to.equal(undefined);
    });

    it("leaves the root role's identity to the root role, or admins could sign in as root", async () => {
      const admin = await fixture.createMember(root, 'second admin', ['login', 'admin']);
      expect(codeOf(await map(admin.token, tenant.rootRoleid))).to.equal('PERMISSION_DENIED');
      expect((await map(root, tenant.rootRoleid)).errors).to.equal(undefined);
    });

    it("refuses another tenant's configuration, with a hint when a providerid was given", async () => {
      const { token, roleid } = await fixture.createMember(root, 'grace', ['login']);
      expect(codeOf(await map(token, roleid, 'x', otherConfid))).to.equal('OIDC_CONFID_NOT_FOUND');
      const mistaken = await map(token, roleid, 'x', String(providerid));
      expect(codeOf(mistaken)).to.equal('OIDC_CONFID_NOT_FOUND');
      expect(mistaken.errors?.[0]?.extensions['hint']).to.include('number of a provider');
    });

    it('shows a role its own identity and those directly below, an admin all', async () => {
      const maker = await fixture.createMember(root, 'head', ['login', 'create_role', 'view_role']);
      const below = await fixture.createMember(maker.token, 'hand', ['login']);
      await map(root, maker.roleid, 'head@example.com');
      await map(root, below.roleid, 'hand@example.com');
      const list = '{ role_oidc(filter: "sub_id LIKE \'%@example.com\'", ordering: "sub_id") { sub_id } }';
      expect((await fixture.control(maker.token, list)).data).to.deep.equal({
        role_oidc: [{ sub_id: 'hand@example.com' }, { sub_id: 'head@example.com' }],
      });
      expect((await fixture.control(below.token, list)).data).to.deep.equal({
        role_oidc: [{ sub_id: 'hand@example.com' }],
      });
      expect((await fixture.control(otherRoot, list)).data).to.deep.equal({ role_oidc: [] });
    });
  });

  it('are all deleted with their tenant', async () => {
    const { pool } = fixture.testDatabase.database;
    const knex = knexOf(fixture.testDatabase.database);
    const leaving = await fixture.createTenant('leaving');
    const token = (await fixture.signIn(leaving.tenantid)).access_token;
    const hosted = await fixture.control(pxadmin, CREATE_PROVIDER, {
      input: { ...PROVIDER, name: 'leaving', tenantid: leaving.tenantid },
    });
    const id = await newConfig(token, {
      providerid: Number(textAt(hosted, 'data.create_oidc_providers.providerid')),
    });
    await fixture.control(token, CREATE_MAPPING, {
      input: { roleid: leaving.rootRoleid, confid: id, sub_id: 'x' },
    });
    await inTransaction(pool, (tx) => deleteTenant(tx, leaving.tenantid));
    const left: unknown = await knex('rowpost.oidc_config').where({ confid: id }).first('confid');
    expect(left).to.equal(undefined);
  });
});

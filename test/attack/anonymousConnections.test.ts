import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { unsubscribeUrl } from '../../src/email/unsubscribeLink.js';
import { KeyRing } from '../../src/config/secrets.js';
import { makeApiKey } from '../../src/foundation/apiKeyText.js';
import { signLink } from '../../src/files/fileLinks.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';
import { TEST_SECRET_KEYS } from '../support/testConfig.js';
import { waitFor } from '../support/waitFor.js';

/** More than there are connections. */
const FLOOD = 40;
const FLOODING = '192.0.2.1';

/** Each statement of theirs is made to wait for a lock, as it would for the row that all requests of an address change. */
describe('attack: requests that hold all connections of the service', function () {
  this.timeout(60_000);
  const keyRing = KeyRing.parse(TEST_SECRET_KEYS);
  let fixture: WebFixture;
  let tenantid: number;
  let other: number;
  before(async () => {
    fixture = await WebFixture.start({ env: { TRUST_PROXY: '1', PG_POOL: '24' } });
    ({ tenantid } = await fixture.createTenant('shop'));
    ({ tenantid: other } = await fixture.createTenant('other'));
  });
  after(() => fixture.stop());

  /** Whether others get through while a flood waits for what the lock keeps. */
  async function expectRoom(
    lock: string,
    send: () => Promise<unknown>,
    others: () => Promise<void>,
  ): Promise<void> {
    const { database } = fixture.testDatabase;
    const [holder, watch] = [database.createClient(), database.createClient()];
    await Promise.all([holder.connect(), watch.connect()]);
    try {
      await holder.query('begin');
      await holder.query(lock);
      const flood = Array.from({ length: FLOOD }, send);
      await waitFor('the flood', async () => {
        const { rowCount } = await watch.query(
          "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()",
        );
        return rowCount !== 0;
      });
      await others();
      await holder.query('rollback');
      await Promise.all(flood);
    } finally {
      await Promise.all([holder.end(), watch.end()]);
    }
  }

  const flooding = { 'x-forwarded-for': FLOODING };
  const get = (path: string): Promise<Response> => fetch(fixture.url + path, { headers: flooding });
  const postJson = (path: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
    fixture.postJson(path, body, { ...headers, ...flooding });

  const signsIn = async (): Promise<void> => {
    const credentials = { tenantid: other, login: ROOT_LOGIN, password: ROOT_PASSWORD };
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    expect((await fixture.postJson('/auth', credentials, headers)).status).to.equal(200);
  };

  it('with sign-ins from one address, which count in one row', async () => {
    const send = (): Promise<Response> => fixture.postJson('/auth', {}, { 'x-forwarded-for': FLOODING });
    await send();
    await expectRoom('update rowpost.sign_in_count set count = count', send, signsIn);
  });

  /** Whether others get a connection of the service while the flood arrives; those that sign in would wait for the lock themselves. */
  const getsConnection = async (): Promise<void> => {
    for (let time = 0; time < 10; time++) {
      const got = fixture.testDatabase.database.pool.query('select').then(() => 'got');
      expect(await Promise.race([got, delay(4_000, 'waits')])).to.equal('got');
      await delay(50);
    }
  };

  /** Without a session, each about another tenant, so that no limit of a tenant holds. */
  const lookUps: readonly (readonly [
    what: string,
    lock: string,
    send: (given: number) => Promise<Response>,
  ])[] = [
    [
      'wrong API keys',
      'policy_rule',
      (given) => postJson('/query', {}, { authorization: `Bearer ${makeApiKey(given, 1)}` }),
    ],
    ['anonymous sign-ins', 'tenant', (given) => postJson('/anonauth', { tenantid: given })],
    ['sign-in pages', 'sign_in_brand', (given) => get(`/signin?tenantid=${given}`)],
    ['sign-in pages of the console', 'sign_in_brand', (given) => get(`/console/sign-in?tenant=${given}`)],
    ['sign-ins at providers', 'oidc_config', (given) => postJson('/oidc', { tenantid: given, confid: 1 })],
    ['public keys of clients', 'oidc_key', (given) => get(`/oidc/1/jwks?tenantid=${given}`)],
  ];
  for (const [what, table, send] of lookUps) {
    it(`with ${what}`, async () => {
      let given = 1_000_000;
      await expectRoom(`lock table rowpost.${table}`, () => send(++given), getsConnection);
    });
  }

  it('with reports that nobody has verified', async () => {
    const send = (): Promise<Response> =>
      fixture.postJson(`/events/sendgrid/${tenantid}`, {}, { 'x-forwarded-for': FLOODING });
    await expectRoom('lock table rowpost.email_webhook_key', send, signsIn);
  });

  it('with the page of an unsubscribe link, which needs those of the ledger', async () => {
    const url = unsubscribeUrl(
      { baseUrl: fixture.url, keyRing },
      { tenantid, address: 'ada@example.com', emailType: 'order', from: 'type' },
    );
    const send = (): Promise<Response> => fetch(url, { headers: { 'x-forwarded-for': FLOODING } });
    const { ledgerPool } = fixture.testDatabase.database;
    await expectRoom('lock table rowpost.email_unsubscribe', send, async () => {
      await ledgerPool.query('select');
    });
  });

  it('with the URL of a file', async () => {
    const { roleid } = await fixture.signIn(tenantid);
    const link = { method: 'GET', tenantid, roleid, storagekey: randomUUID(), size: null } as const;
    const inAnHour = { expires: Date.now() / 1_000 + 3_600, sinceMs: Date.now(), isForEmail: false };
    const url = signLink(keyRing, fixture.url, { ...link, ...inAnHour });
    const send = (): Promise<Response> => fetch(url, { headers: { 'x-forwarded-for': FLOODING } });
    await expectRoom('lock table rowpost.file', send, signsIn);
  });

  it('with pages of the console', async () => {
    const browser = new ConsoleBrowser(fixture);
    const form = { tenant: 'shop', login: ROOT_LOGIN, password: ROOT_PASSWORD };
    expect((await browser.post('/console/sign-in', form)).status).to.equal(303);
    const send = (): Promise<Response> => browser.get('/console/account');
    await expectRoom('lock table rowpost.ended_session', send, signsIn);
  });
});

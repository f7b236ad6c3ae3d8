import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { LOGIN, startFakeSmtp, type FakeSmtp } from '../support/fakeSmtp.js';
import { knexOf } from '../support/knexOf.js';

const SHOWN = 'transports { kind host port security username dkim_domain } paused_code';
const SET = `mutation ($input: email_transportInput!) { Utility { set_email_transport(input: $input) { ${SHOWN} } } }`;
const READ = `{ Utility { email_transport { ${SHOWN} set_time } } }`;

describe('roles_pbac: set_email_transport', () => {
  let fixture: WebFixture;
  let server: FakeSmtp;
  let root: string;
  let tenantid: number;

  before(async () => {
    server = await startFakeSmtp({ disabledCommands: ['STARTTLS'], allowInsecureAuth: true });
    fixture = await WebFixture.start({ env: { MAIL_TRANSPORT: 'sendgrid', SEND_DEADLINE_MS: '1000' } });
  });
  after(async () => {
    await fixture.stop();
    await server.stop();
  });
  beforeEach(async () => {
    ({ tenantid } = await fixture.createTenant(
      `shop${Math.random()}`,
      'create table note (id int primary key, text text)',
    ));
    root = (await fixture.signIn(tenantid)).access_token;
  });

  const smtp = (rest: object = {}): object => ({
    kind: 'smtp',
    host: '127.0.0.1',
    port: server.port,
    security: 'none',
    ...LOGIN,
    ...rest,
  });
  const set = (input: object): Promise<GraphqlResult> => fixture.control(root, SET, { input });
  const stored = async (): Promise<Record<string, unknown> | undefined> =>
    (await knexOf(fixture.testDatabase.database)('rowpost.email_apikey')
      .where({ tenantid })
      .first()) as never;

  it('stores what was verified, encrypted, and shows it without secrets', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    const dkim = { domain: 'example.com', selector: 'email', private_key: pem };
    const before = server.emails.length;
    const response = await set(smtp({ dkim }));
    const carriers = {
      kind: 'smtp',
      host: '127.0.0.1',
      port: server.port,
      security: 'none',
      username: 'shop',
      dkim_domain: 'example.com',
    };
    expect(response.data).to.deep.equal({
      Utility: { set_email_transport: { transports: [carriers], paused_code: null } },
    });
    expect(server.emails).to.have.length(before);
    const read = await fixture.control(root, READ);
    expect(read.data)
      .to.have.nested.property('Utility.email_transport.transports')
      .that.deep.equals([carriers]);
    const row = await stored();
    expect(JSON.stringify([row, response, read]))
      .to.not.include('canary')
      .and.not.include('PRIVATE');
    // Enough for the other settings, and to send by.
    const type = await fixture.control(
      root,
      `mutation { create_email_type(input: {email_type: "hello", template: "hello", subject: "s",
        recipients: ["a@example.com"], sender: "b@example.com"}) { email_type } }`,
    );
    expect(type.errors).to.equal(undefined);
    const test = await fixture.control(
      root,
      'mutation { Utility { send_test_email(email_type: "hello", to: "me@example.com", context: {}) { sent error { message } } } }',
    );
    expect(test.data).to.deep.equal({ Utility: { send_test_email: { sent: true, error: null } } });
    expect(server.emails.at(-1)!.to).to.deep.equal(['me@example.com']);
    expect(server.emails.at(-1)!.raw.toString()).to.match(/^DKIM-Signature:/m);
  });

  it('changes nothing when the carrier rejects the account', async () => {
    const refused = await set(smtp({ password: 'canary-wrong' }));
    expect(codeOf(refused)).to.equal('EMAIL_TRANSPORT_REFUSED');
    expect(JSON.stringify(refused)).to.include('535').and.not.include('canary');
    expect(await stored()).to.equal(undefined);
    expect((await fixture.control(root, READ)).data).to.deep.equal({ Utility: { email_transport: null } });
  });

  it('coexists with set_email_apikey, which remains for SendGrid', async () => {
    expect(codeOf(await set({ transports: [smtp(), { kind: 'sendgrid' }] }))).to.equal(
      'EMAIL_APIKEY_MISSING',
    );
    await set(smtp());
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    const read = await fixture.control(root, READ);
    expect(read.data).to.have.nested.property('Utility.email_transport.transports[0].kind', 'smtp');
  });

  it('rejects invalid transports, field by field', async () => {
    for (const [input, field] of [
      [{}, 'kind'],
      [{ kind: 'pigeon' }, 'kind'],
      [{ kind: 'constructor' }, 'kind'],
      [smtp({ host: null }), 'host'],
      [smtp({ host: 'a b' }), 'host'],
      [smtp({ host: 'a\r\nb' }), 'host'],
      [smtp({ port: 70_000 }), 'port'],
      [smtp({ security: 'maybe' }), 'security'],
      [smtp({ password: null }), 'username'],
      [smtp({ username: 'a\r\nMAIL FROM:<x@y>' }), 'username'],
      [smtp({ max_connections: 1000 }), 'max_connections'],
      [smtp({ dkim: { domain: 'example.com', selector: 'm', private_key: 'none' } }), 'dkim.private_key'],
      [smtp({ dkim: { domain: 'e; x', selector: 'm', private_key: 'none' } }), 'dkim.domain'],
      [{ kind: 'ses', region: 'eu-central-1', access_key_id: 'a' }, 'secret_access_key'],
      [{ kind: 'ses', region: 'x.example.com/', access_key_id: 'a', secret_access_key: 'b' }, 'region'],
      [{ transports: [] }, 'transports'],
      [{ transports: [smtp(), smtp()] }, 'transports'],
      [{ kind: 'smtp', transports: [smtp()] }, 'kind'],
      [{ transports: [smtp(), { kind: 'x' }] }, 'transports[1].kind'],
      [{ transports: [{ transports: [smtp()] }] }, 'transports[0].kind'],
    ] as const) {
      const { errors } = await set(input);
      expect(errors?.[0]?.extensions, JSON.stringify(input)).to.deep.include({
        code: 'BAD_USER_INPUT',
        field,
      });
    }
    expect(await stored()).to.equal(undefined);
  });

  it('must be the only mutation of its request', async () => {
    const { errors } = await fixture.control(
      root,
      'mutation { Utility { set_email_transport(input: {kind: "sendgrid"}) { set_time } set_email_apikey(apikey: "x") { apikey } } }',
    );
    expect(errors?.[0]?.extensions.code).to.equal('BAD_USER_INPUT');
  });
});

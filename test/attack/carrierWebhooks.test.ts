import { createHmac, generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { WEBHOOK_KINDS } from '../../src/control/email/carrierWebhook.js';
import { insertSentDeliveries } from '../delivery/webhook.js';
import {
  BOUNCES,
  fromMailgun,
  fromResend,
  fromSes,
  secretOf,
  SECRETS,
  SIGNED_BOUNCES,
  SNS_HOST,
  type Posted,
} from '../support/carrierReports.js';
import { SNS_CERTIFICATE } from '../support/snsKey.js';
import { at, WebFixture } from '../api/webFixture.js';
import { knexOf } from '../support/knexOf.js';

const SET = `mutation ($input: email_carrier_webhookInput!) {
  Utility { set_email_webhook(input: $input) { kind url set_time } } }`;
const HOUR_SECONDS = 3600;

/** A wrong password is a 401, and a wrong signature a 403. */
const refusedWith = (kind: string): number => (['postmark', 'brevo'].includes(kind) ? 401 : 403);

describe('attack: forged, repeated and cross-tenant carrier webhooks', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let foreign: number;
  let root: string;
  let deliveryid: string;
  /** What was fetched from SNS. */
  let fetched: string[] = [];

  before(async () => {
    fixture = await WebFixture.start({
      // Large reports count as the tenant's CPU time, which is not the subject here.
      env: { PLANNING_MS_PER_SECOND: '1000' },
      readSns: (url) => {
        fetched.push(url.href);
        return Promise.resolve(SNS_CERTIFICATE);
      },
    });
    tenantid = (await fixture.createTenant('shop')).tenantid;
    foreign = (await fixture.createTenant('other')).tenantid;
    root = (await fixture.signIn(tenantid)).access_token;
    const other = (await fixture.signIn(foreign)).access_token;
    for (const kind of WEBHOOK_KINDS) {
      for (const token of [root, other]) {
        const input = {
          kind,
          secret:
            token === root || kind === 'ses'
              ? secretOf(kind)
              : secretOf(kind).replace('canary', 'Canary').replace('Y2FuYXJ5', 'Y2FuYXJ6'),
        };
        const { errors } = await fixture.control(token, SET, { input });
        expect(errors, kind).to.equal(undefined);
      }
    }
  });
  after(() => fixture.stop());
  beforeEach(async () => {
    fetched = [];
    await knexOf(fixture.testDatabase.database)('rowpost.email_suppression').delete();
    [deliveryid = ''] = await insertSentDeliveries(fixture.testDatabase.database, tenantid, 1);
  });

  const post = async (kind: string, { headers, body }: Posted, to = tenantid): Promise<number> =>
    (await fixture.fetch(`/events/${kind}/${to}`, { method: 'POST', headers, body })).status;
  const events = async (): Promise<readonly Record<string, unknown>[]> =>
    (await knexOf(fixture.testDatabase.database)('rowpost.email_event').where({ deliveryid })) as never;
  const suppressed = (): Promise<readonly string[]> =>
    knexOf(fixture.testDatabase.database)('rowpost.email_suppression').pluck<string[]>('address');
  const bounce = (kind: string, of = tenantid, secret?: string): Posted => {
    const signed = SIGNED_BOUNCES[kind];
    if (!signed) throw new Error(`${kind} has no reports here`);
    return signed(deliveryid, of, secret);
  };

  for (const kind of WEBHOOK_KINDS) {
    describe(kind, () => {
      it('a genuine report is recorded once, however often it arrives, and suppresses the address', async () => {
        const posted = bounce(kind);
        for (let times = 0; times < 3; times++) expect(await post(kind, posted)).to.equal(200);
        const [event, ...more] = await events();
        expect(more).to.deep.equal([]);
        expect(event).to.include({
          event: 'bounce',
          type: 'bounce',
          recipient: 'ada@example.com',
          reason: 'no such user',
        });
        expect(await suppressed()).to.deep.equal(['ada@example.com']);
      });

      it('an altered, unsigned, malformed, deeply nested or oversized report is refused', async () => {
        const { headers, body } = bounce(kind);
        const changed = { headers, body: body.replaceAll('ada@example.com', 'eve@example.com') };
        if (kind === 'resend' || kind === 'ses') expect(await post(kind, changed)).to.equal(403);
        expect(await post(kind, { headers: {}, body: '{}' })).to.equal(401);
        const refused = [400, 401, 403];
        expect(await post(kind, { headers, body: 'no JSON' })).to.be.oneOf(refused);
        expect(await post(kind, { headers, body: '['.repeat(400_000) })).to.be.oneOf(refused);
        expect(await post(kind, { headers, body: `{"a":"${'x'.repeat(600_000)}"}` })).to.equal(413);
        expect([await events(), await suppressed()]).to.deep.equal([[], []]);
      });

      it('does not reveal whether a tenant exists or has a secret', async () => {
        const nobody = await fixture.createTenant(`silent ${kind}`);
        for (const to of [nobody.tenantid, 999_999])
          expect(await post(kind, bounce(kind), to)).to.equal(refusedWith(kind));
      });

      it('of one tenant has no effect on deliveries of another', async () => {
        if (kind !== 'ses') expect(await post(kind, bounce(kind), foreign)).to.equal(refusedWith(kind));
        // Labeled with the tenant that receives it, but about another's delivery.
        const secret = secretOf(kind).replace('canary', 'Canary').replace('Y2FuYXJ5', 'Y2FuYXJ6');
        const stolen = bounce(kind, foreign, secret);
        expect(await post(kind, stolen, foreign)).to.equal(200);
        expect(await post(kind, bounce(kind, foreign))).to.equal(200);
        expect([await events(), await suppressed()]).to.deep.equal([[], []]);
      });

      it('is refused once the secret is removed', async () => {
        const { data } = await fixture.control(root, SET, { input: { kind, secret: null } });
        expect(at(data, 'Utility.set_email_webhook.set_time')).to.equal(null);
        expect(await post(kind, bounce(kind))).to.equal(refusedWith(kind));
        await fixture.control(root, SET, { input: { kind, secret: secretOf(kind) } });
        expect(await post(kind, bounce(kind))).to.equal(200);
      });
    });
  }

  it('old and future signatures are refused', async () => {
    const now = Math.floor(Date.now() / 1000);
    for (const [kind, posted] of [
      ['resend', fromResend(BOUNCES.resend(deliveryid, tenantid), now - 301)],
      ['resend', fromResend(BOUNCES.resend(deliveryid, tenantid), now + 400)],
      ['mailgun', fromMailgun(BOUNCES.mailgun(deliveryid, tenantid), now - 10 * HOUR_SECONDS)],
      ['mailgun', fromMailgun(BOUNCES.mailgun(deliveryid, tenantid), now + 400)],
      [
        'ses',
        fromSes(BOUNCES.ses(deliveryid, tenantid), {
          Timestamp: new Date((now - 26 * HOUR_SECONDS) * 1000).toISOString(),
        }),
      ],
      ['ses', fromSes(BOUNCES.ses(deliveryid, tenantid), { Timestamp: 'soon' })],
    ] as const) {
      expect(await post(kind, posted), kind).to.equal(403);
    }
    expect(await events()).to.deep.equal([]);
  });

  it('a signature of Mailgun, which does not cover the report, is good for one report', async () => {
    const first = fromMailgun(BOUNCES.mailgun(deliveryid, tenantid));
    const { signature } = JSON.parse(first.body) as { signature: object };
    const other = {
      signature,
      'event-data': { ...BOUNCES.mailgun(deliveryid, tenantid), recipient: 'eve@example.com' },
    };
    expect(await post('mailgun', first)).to.equal(200);
    expect(await post('mailgun', { headers: first.headers, body: JSON.stringify(other) })).to.equal(403);
    expect(await post('mailgun', first)).to.equal(200);
    expect(await suppressed()).to.deep.equal(['ada@example.com']);
  });

  it('a signature of Mailgun is not good for another report by moving digits between time and token', async () => {
    const at = Math.floor(Date.now() / 1000);
    const token = `e0${'a'.repeat(48)}`;
    const signature = createHmac('sha256', SECRETS.mailgun).update(`${at}${token}`).digest('hex');
    const signed = (timestamp: string | number, rest: string): Posted => ({
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        signature: { timestamp, token: rest, signature },
        'event-data': BOUNCES.mailgun(deliveryid, tenantid),
      }),
    });
    expect(await post('mailgun', signed(`${at}e0`, token.slice(2)))).to.equal(401);
    expect(await post('mailgun', signed(`${at}e`, token.slice(1)))).to.equal(401);
    expect(await post('mailgun', signed(at, token))).to.equal(200);
  });

  it('a signed report of Mailgun without an event is ignored', async () => {
    for (const event of [undefined, null, [], 'text']) {
      expect(await post('mailgun', fromMailgun(event as never)), String(event)).to.equal(200);
    }
  });

  it('used signatures expire a few at a time, however many a tenant has made', async () => {
    const { pool } = fixture.testDatabase.database;
    const knex = knexOf(fixture.testDatabase.database);
    await pool.query(
      `insert into rowpost.webhook_token (tenantid, token, report, createtime)
       select $1, i::text, '', now() - interval '3 days' from generate_series(1, 1000) i`,
      [foreign],
    );
    const left = async (): Promise<number> =>
      (await knex('rowpost.webhook_token').where({ tenantid: foreign, report: '' }).pluck('token')).length;
    expect(await post('mailgun', fromMailgun(BOUNCES.mailgun(deliveryid, tenantid)))).to.equal(200);
    expect(await left()).to.equal(900);
  });

  it('a complaint about one of several recipients suppresses none of them', async () => {
    const two = BOUNCES.resend(deliveryid, tenantid, ['ada@example.com', 'bob@example.com']);
    expect(await post('resend', fromResend(two))).to.equal(200);
    expect(await events()).to.have.length(2);
    expect(await suppressed()).to.deep.equal([]);
  });

  describe('SNS', () => {
    it("certificates are fetched only from SNS in the topic's region", async () => {
      const file = '/SimpleNotificationService-0123456789abcdef0123456789abcdef.pem';
      for (const SigningCertURL of [
        `https://evil.example.com${file}`,
        `https://sns.eu-central-1.amazonaws.com.evil.example.com${file}`,
        `https://sns.eu-central-1.amazonaws.com@evil.example.com${file}`,
        `http://sns.eu-central-1.amazonaws.com${file}`,
        `https://sns.eu-central-1.amazonaws.com:8443${file}`,
        `https://sns.us-east-1.amazonaws.com${file}`,
        `https://s3.eu-central-1.amazonaws.com${file}`,
        `${SNS_HOST}/evil/../x.pem`,
        `${SNS_HOST}${file}?x=1`,
        `${SNS_HOST}/bucket${file}`,
        'file:///etc/passwd',
        'no address',
      ]) {
        const posted = fromSes(BOUNCES.ses(deliveryid, tenantid), { SigningCertURL });
        expect(await post('ses', posted), SigningCertURL).to.equal(403);
      }
      expect(fetched).to.deep.equal([]);
    });

    it('messages of other topics, keys, versions and types are refused', async () => {
      const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
      const key = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
      const report = BOUNCES.ses(deliveryid, tenantid);
      for (const posted of [
        fromSes(report, { TopicArn: 'arn:aws:sns:eu-central-1:999999999999:email-events' }),
        fromSes(report, {}, key),
        fromSes(report, { SignatureVersion: '3' }),
        fromSes(report, { Type: 'constructor' }),
        fromSes(report, { Signature: 'AAAA' }),
      ]) {
        expect(await post('ses', posted)).to.equal(403);
      }
      expect(await events()).to.deep.equal([]);
      expect(await post('ses', fromSes(report, { SignatureVersion: '1' }))).to.equal(200);
    });

    it('a subscription is confirmed at a URL built by the service, never at the one supplied', async () => {
      const confirmation = (changes: object): Posted =>
        fromSes(
          {},
          {
            Type: 'SubscriptionConfirmation',
            Token: 'token&Action=DeleteTopic',
            SubscribeURL: 'https://evil.example.com/',
            ...changes,
          },
        );
      expect(
        await post('ses', confirmation({ TopicArn: 'arn:aws:sns:eu-central-1:999999999999:x' })),
      ).to.equal(403);
      expect(await post('ses', confirmation({ Signature: 'AAAA' }))).to.equal(403);
      expect(fetched.filter((url) => url.includes('Confirm'))).to.deep.equal([]);
      expect(await post('ses', confirmation({}))).to.equal(200);
      const asked = new URL(fetched.at(-1)!);
      expect([asked.origin, asked.pathname]).to.deep.equal([SNS_HOST, '/']);
      expect(Object.fromEntries(asked.searchParams)).to.deep.equal({
        Action: 'ConfirmSubscription',
        TopicArn: SECRETS.ses,
        Token: 'token&Action=DeleteTopic',
      });
    });
  });

  it('secrets are stored encrypted, never shown, and validated by format', async () => {
    const rows: unknown = await knexOf(fixture.testDatabase.database)('rowpost.carrier_webhook');
    expect(JSON.stringify(rows)).to.not.match(/canary|email-events/);
    const { data } = await fixture.control(root, '{ Utility { email_webhooks { kind url set_time } } }');
    expect(JSON.stringify(data))
      .to.include(`/events/ses/${tenantid}`)
      .and.not.match(/canary|email-events/);
    for (const kind of WEBHOOK_KINDS) {
      const { errors } = await fixture.control(root, SET, { input: { kind, secret: 'short' } });
      expect(errors?.[0]?.extensions.code, kind).to.equal('BAD_USER_INPUT');
    }
  });
});

import { expect } from 'chai';
import { WEBHOOK_KINDS } from '../../../../src/control/email/carrierWebhook.js';
import { EVENT_BYTES } from '../../../../src/db/email/emailEvents.js';
import { inTransaction } from '../../../../src/db/pool/inTransaction.js';
import { insertSentDeliveries, Reporter, sendgridEvent } from '../../../delivery/webhook.js';
import { secretOf, SIGNED_BOUNCES, type Posted } from '../../../support/carrierReports.js';
import { SNS_CERTIFICATE } from '../../../support/snsKey.js';
import { waitFor } from '../../../support/waitFor.js';
import { WebFixture } from '../../../api/webFixture.js';

/** After which responses a carrier repeats a report, by its documentation. */
const REPEATS: Readonly<Record<string, (status: number) => boolean>> = {
  sendgrid: (status) => status < 200 || status > 299,
  resend: (status) => status < 200 || status > 299,
  mailgun: (status) => status !== 200 && status !== 406,
  postmark: (status) => status !== 200 && status !== 403,
  brevo: (status) => status === 429 || status > 499,
  ses: (status) => status === 429 || status > 499,
};
/** They take any other 4xx for final. */
const GIVE_UP = ['brevo', 'ses'];
const KINDS = ['sendgrid', ...WEBHOOK_KINDS];

describe("responses to carriers' reports", () => {
  let fixture: WebFixture;
  let tenantid: number;
  let posted: ReadonlyMap<string, Posted>;
  const reporter = new Reporter();

  before(async () => {
    fixture = await WebFixture.start({ readSns: () => Promise.resolve(SNS_CERTIFICATE) });
    ({ tenantid } = await fixture.createTenant('shop'));
    const root = (await fixture.signIn(tenantid)).access_token;
    const set = async (mutation: string, variables: object): Promise<void> => {
      expect((await fixture.control(root, mutation, variables)).errors).to.equal(undefined);
    };
    for (const kind of WEBHOOK_KINDS) {
      await set(
        'mutation ($input: email_carrier_webhookInput!) { Utility { set_email_webhook(input: $input) { url } } }',
        { input: { kind, secret: secretOf(kind) } },
      );
    }
    await set(
      'mutation ($key: String) { Utility { set_email_webhook_key(verification_key: $key) { url } } }',
      {
        key: reporter.verificationKey,
      },
    );
    const [deliveryid = ''] = await insertSentDeliveries(fixture.testDatabase.database, tenantid, 1);
    const body = JSON.stringify([sendgridEvent({ event: 'open', deliveryid, tenantid: String(tenantid) })]);
    posted = new Map<string, Posted>([
      ['sendgrid', { headers: reporter.sign(body), body }],
      ...WEBHOOK_KINDS.map((kind) => [kind, SIGNED_BOUNCES[kind]!(deliveryid, tenantid)] as const),
    ]);
  });
  after(() => fixture.stop());

  const statusOf = async (
    kind: string,
    to = tenantid,
    headers = posted.get(kind)!.headers,
  ): Promise<number> => {
    const { body } = posted.get(kind)!;
    return (await fixture.fetch(`/events/${kind}/${to}`, { method: 'POST', headers, body })).status;
  };
  const statuses = (to?: number): Promise<readonly (readonly [string, number])[]> =>
    Promise.all(KINDS.map(async (kind) => [kind, await statusOf(kind, to)] as const));
  const repeated = (given: readonly (readonly [string, number])[]): readonly string[] =>
    given.filter(([kind, status]) => REPEATS[kind]!(status)).map(([kind]) => kind);
  const update = (sql: string, values: readonly unknown[] = [tenantid]): Promise<unknown> =>
    fixture.testDatabase.database.pool.query(sql, [...values]);

  it('are covered here for all carriers', () => {
    expect(Object.keys(REPEATS)).to.have.members(KINDS);
  });

  it('let none repeat what is stored', async () => {
    const given = await statuses();
    expect(repeated(given), JSON.stringify(given)).to.deep.equal([]);
  });

  it('let those repeat it that can, if the secret is another one, or not set yet', async () => {
    const { tenantid: other } = await fixture.createTenant('other');
    const given = await statuses(other);
    expect(repeated(given), JSON.stringify(given)).to.have.members(
      KINDS.filter((kind) => !GIVE_UP.includes(kind)),
    );
  });

  it('name the scheme to those that have a password in the URL', async () => {
    for (const kind of ['postmark', 'brevo']) {
      const response = await fixture.fetch(`/events/${kind}/${tenantid}`, { method: 'POST', body: '{}' });
      expect([response.status, response.headers.get('www-authenticate')]).to.deep.equal([
        401,
        'Basic realm="rowpost"',
      ]);
    }
  });

  const expectAll = async (): Promise<void> => {
    const given = await statuses();
    expect(repeated(given), JSON.stringify(given)).to.have.members(KINDS);
  };

  it('let all repeat it if the tenant is being moved', async () => {
    await update(`update rowpost.tenant set moved_to = 'another', move = 1 where tenantid = $1`);
    await expectAll();
    await update('update rowpost.tenant set moved_to = null, move = 0 where tenantid = $1');
  });

  it('let all repeat it if the secret can not be decrypted', async () => {
    const change = (from: string, to: string): Promise<unknown> =>
      update(
        `update rowpost.carrier_webhook set secret_encrypted = replace(secret_encrypted, $2, $3) where tenantid = $1`,
        [tenantid, from, to],
      );
    await change('.', '-removed.');
    const given = await statuses();
    // SendGrid's is the public half of a key.
    expect(repeated(given), JSON.stringify(given)).to.have.members(WEBHOOK_KINDS);
    await change('-removed.', '.');
  });

  it('let all repeat it beyond the quota of the day', async () => {
    const day = "(now() at time zone 'UTC')::date";
    await update(
      `insert into rowpost.email_event_quota values ($1, ${day}, $2)
       on conflict (tenantid, day) do update set bytes = excluded.bytes`,
      [tenantid, EVENT_BYTES],
    );
    await expectAll();
    await update('delete from rowpost.email_event_quota where tenantid = $1');
  });

  it('let all repeat it if the database does not store it in time', async () => {
    await inTransaction(fixture.testDatabase.database.pool, async (tx) => {
      await tx.query('lock table rowpost.email_event_quota in access exclusive mode');
      await expectAll();
    });
    await waitFor('reports to be stored again', async () => repeated(await statuses()).length === 0);
  });
});

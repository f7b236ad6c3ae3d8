import { expect } from 'chai';
import type { CreatedTenant } from '../../src/control/tenants/tenants.js';
import { purgeRemovedSuppressions } from '../../src/db/email/suppressions.js';
import { at, codeOf, WebFixture, type GraphqlResult, type Json } from '../api/webFixture.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import { createRule, pipelineConfig, startPipeline, writeEvents, type Pipeline } from './pipelineSetup.js';
import { insertSentDeliveries, Reporter, sendgridEvent, type GivenEvent } from './webhook.js';

const CREATE = `mutation ($input: email_suppressionInput) { create_email_suppression(input: $input) {
  address reason source deliveryid creatorid } }`;
const DELETE = 'mutation ($address: ID!) { delete_email_suppression(address: $address) { address source } }';

describe('suppressed addresses', () => {
  let fixture: WebFixture;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  let tenant: CreatedTenant;
  let root: string;
  let target = '';
  let tables = 0;
  const reporter = new Reporter();

  before(async () => {
    provider = await startFakeProvider();
    fixture = await WebFixture.start();
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(fixture.testDatabase.database, config);
    tenant = await fixture.createTenant('shop', 'create table customer (id int primary key)');
    root = (await fixture.signIn(tenant.tenantid)).access_token;
    await setUp(root);
  });
  beforeEach(async () => {
    target = `table_${++tables}`;
    await fixture.testDatabase.database.pool.query('delete from rowpost.email_suppression');
  });
  after(async () => {
    await pipeline.stop();
    await fixture.stop();
    await provider.stop();
  });

  async function setUp(token: string): Promise<void> {
    const { errors } = await fixture.control(
      token,
      `mutation ($key: String) { set_email_apikey(apikey: "SG.key") { apikey }
        Utility { set_email_webhook_key(verification_key: $key) { url } } }`,
      { key: reporter.verificationKey },
    );
    expect(errors).to.equal(undefined);
  }

  const report = async (events: readonly GivenEvent[]): Promise<void> => {
    const body = JSON.stringify(events);
    const response = await fixture.fetch(`/events/sendgrid/${tenant.tenantid}`, {
      method: 'POST',
      headers: reporter.sign(body),
      body,
    });
    expect(response.status).to.equal(204);
  };
  const suppress = (input: Json): Promise<GraphqlResult> => fixture.control(root, CREATE, { input });
  const list = async (args = '', token = root): Promise<Json[]> => {
    const { data } = await fixture.control(
      token,
      `{ email_suppression${args} { address source reason deliveryid } }`,
    );
    return at(data, 'email_suppression') as Json[];
  };

  /** Fires a rule with these addresses. @returns the delivery at its end, and the email that the provider got. */
  async function send(
    addresses: {
      readonly to: readonly string[];
      readonly cc?: readonly string[];
      readonly bcc?: readonly string[];
    },
    sender: { readonly tenantid: number; readonly rootRoleid: number } = tenant,
  ) {
    const { database } = fixture.testDatabase;
    const from = { tenantid: sender.tenantid, roleid: sender.rootRoleid, apiKey: 'SG.key' };
    const { cc = [], bcc = [] } = addresses;
    await createRule(database, from, {
      emailType: target,
      targets: [target],
      recipients: addresses.to,
      options: { cc, bcc },
    });
    await writeEvents(database, from, 1, { target });
    const delivery = await waitFor('the end of the delivery', async () => {
      const { rows } = await database.pool.query<{
        deliveryid: string;
        state: string;
        error_code: string | null;
        error: string | null;
        recipients: string[] | null;
      }>(
        `select deliveryid::text as deliveryid, state, error_code, error, recipients from rowpost.email_delivery
         where target = $1 and tenantid = $2 and state in ('sent', 'failed', 'skipped')`,
        [target, sender.tenantid],
      );
      return rows[0];
    });
    const email = provider.calls.find(({ deliveryid }) => deliveryid === delivery.deliveryid)?.body
      .personalizations[0];
    const emails = (items: readonly { email: string }[] = []): string[] => items.map(({ email }) => email);
    return {
      ...delivery,
      email: email && { to: emails(email.to), cc: emails(email.cc), bcc: emails(email.bcc) },
    };
  }

  it('are left out of recipients, cc and bcc, whatever their case', async () => {
    await suppress({ address: 'Gone@Example.com', reason: 'asked by phone' });
    const { state, email, recipients } = await send({
      to: ['GONE@example.com', 'Ada <ada@example.com>'],
      cc: ['bob@example.com'],
      bcc: ['gone@EXAMPLE.COM', 'cy@example.com'],
    });
    expect(state).to.equal('sent');
    expect(email).to.deep.equal({
      to: ['ada@example.com'],
      cc: ['bob@example.com'],
      bcc: ['cy@example.com'],
    });
    expect(recipients).to.deep.equal(['Ada <ada@example.com>']);
  });

  it('end a delivery as skipped when nobody is left, and it says why', async () => {
    const [bounced] = await insertSentDeliveries(fixture.testDatabase.database, tenant.tenantid, 1);
    await report([
      sendgridEvent({ event: 'bounce', type: 'bounce', deliveryid: bounced!, email: 'gone@example.com' }),
    ]);
    await suppress({ address: 'left@example.com' });
    const { email, ...delivery } = await send({
      to: ['gone@example.com', 'Left <left@example.com>'],
      cc: ['ada@example.com'],
    });
    expect(email).to.equal(undefined);
    expect(delivery).to.include({
      state: 'skipped',
      error_code: 'SUPPRESSED',
      error:
        'every recipient is on the suppression list: gone@example.com (its email bounced), left@example.com (put on the list by hand)',
    });
  });

  it("are one tenant's own", async () => {
    const other = await fixture.createTenant('neighbour', 'create table customer (id int primary key)');
    const token = (await fixture.signIn(other.tenantid)).access_token;
    await setUp(token);
    await suppress({ address: 'ada@example.com' });
    expect(await list('', token)).to.deep.equal([]);
    expect((await send({ to: ['ada@example.com'] }, other)).state).to.equal('sent');
    expect(codeOf(await fixture.control(token, DELETE, { address: 'ada@example.com' }))).to.equal(
      'NOT_FOUND',
    );
    expect(await list()).to.have.length(1);
  });

  it('come from bounces for good, complaints, and email dropped because of either', async () => {
    const deliveries = await insertSentDeliveries(fixture.testDatabase.database, tenant.tenantid, 7);
    const event = (index: number, email: string, given: GivenEvent): GivenEvent =>
      sendgridEvent({ deliveryid: deliveries[index]!, email, ...given });
    await report([
      event(0, 'bounce@example.com', {
        event: 'bounce',
        type: 'bounce',
        reason: '550 no such user',
        status: '5.1.1',
      }),
      event(1, 'blocked@example.com', {
        event: 'bounce',
        type: 'blocked',
        reason: '421 too many connections',
      }),
      event(2, 'Spam@Example.com', { event: 'spamreport' }),
      event(3, 'dropped@example.com', { event: 'dropped', reason: 'Bounced Address' }),
      event(4, 'droppedspam@example.com', { event: 'dropped', reason: 'Spam Reporting Address' }),
      event(5, 'invalid@example.com', { event: 'dropped', reason: 'Invalid' }),
      event(6, 'slow@example.com', { event: 'deferred', response: '450 later' }),
    ]);
    expect(await list('(ordering: ["address"])')).to.deep.equal([
      {
        address: 'bounce@example.com',
        source: 'bounce',
        reason: '550 no such user',
        deliveryid: deliveries[0],
      },
      {
        address: 'dropped@example.com',
        source: 'bounce',
        reason: 'Bounced Address',
        deliveryid: deliveries[3],
      },
      {
        address: 'droppedspam@example.com',
        source: 'spamreport',
        reason: 'Spam Reporting Address',
        deliveryid: deliveries[4],
      },
      { address: 'spam@example.com', source: 'spamreport', reason: null, deliveryid: deliveries[2] },
    ]);
    expect(await list(`(filter: "source = 'spamreport'", limit: 1, offset: 1)`)).to.have.length(1);
  });

  it('stay off the list when an event from before they were taken off comes late, or again', async () => {
    const { database } = fixture.testDatabase;
    const deliveries = await insertSentDeliveries(database, tenant.tenantid, 3);
    const seconds = Math.floor(Date.now() / 1000);
    const bounce = (index: number, timestamp: number): GivenEvent =>
      sendgridEvent({
        event: 'bounce',
        type: 'bounce',
        deliveryid: deliveries[index]!,
        email: 'ada@example.com',
        timestamp,
      });
    const first = bounce(0, seconds - 100);
    await report([first]);
    expect(await list()).to.have.length(1);
    await fixture.control(root, DELETE, { address: 'ADA@example.com' });
    expect(await list()).to.deep.equal([]);
    await report([first, bounce(1, seconds - 50)]);
    expect(await list()).to.deep.equal([]);
    // Days later, when nobody knows any more that it was taken off.
    await database.pool.query(
      `update rowpost.email_suppression set removetime = now() - interval '4 days' where address = 'ada@example.com'`,
    );
    await purgeRemovedSuppressions(database.ledger);
    await report([first]);
    expect(await list()).to.deep.equal([]);
    expect((await send({ to: ['ada@example.com'] })).state).to.equal('sent');
    // One that happened after it.
    await report([bounce(2, seconds + 60)]);
    expect(await list()).to.deep.equal([
      { address: 'ada@example.com', source: 'bounce', reason: null, deliveryid: deliveries[2] },
    ]);
  });

  it('are put on the list and taken off it by GraphQL', async () => {
    const made = await suppress({ address: ' "Ada, L." <Ada@Example.com> ', reason: 'asked by phone' });
    expect(at(made.data, 'create_email_suppression')).to.include({
      address: 'ada@example.com',
      reason: 'asked by phone',
      source: 'manual',
      deliveryid: null,
    });
    expect(codeOf(await suppress({ address: 'ADA@example.com' }))).to.equal('UNIQUE_VIOLATION');
    for (const input of [
      {},
      { address: '' },
      { address: 'no address' },
      { address: 'a@example.com, b@example.com' },
    ]) {
      expect(codeOf(await suppress(input)), JSON.stringify(input)).to.equal('BAD_USER_INPUT');
    }
    const gone = await fixture.control(root, DELETE, { address: 'Ada@example.com' });
    expect(gone.data).to.deep.equal({
      delete_email_suppression: { address: 'ada@example.com', source: 'manual' },
    });
    expect(codeOf(await fixture.control(root, DELETE, { address: 'ada@example.com' }))).to.equal('NOT_FOUND');
    // Again, after it was taken off.
    expect((await suppress({ address: 'ada@example.com' })).errors).to.equal(undefined);
    expect(await list()).to.have.length(1);
  });

  it('are removed by the same spelling they were added with', async () => {
    const written = '"Jürgen" <JÜRGEN@MÜLLER.example>';
    const listed = 'jürgen@xn--mller-kva.example';
    expect((await suppress({ address: written })).errors).to.equal(undefined);
    expect((await list()).map((item) => item.address)).to.deep.equal([listed]);
    const gone = await fixture.control(root, DELETE, { address: written });
    expect(gone.data).to.deep.equal({ delete_email_suppression: { address: listed, source: 'manual' } });
  });

  it('are forgotten some days after they were taken off, and only then', async () => {
    const { database } = fixture.testDatabase;
    const ledger = database.ledger;
    for (const name of ['kept', 'removed', 'forgotten']) await suppress({ address: `${name}@example.com` });
    await fixture.control(root, DELETE, { address: 'removed@example.com' });
    await database.pool.query(
      `update rowpost.email_suppression set removetime = now() - interval '4 days' where address like 'forgotten%'`,
    );
    await purgeRemovedSuppressions(ledger);
    const { rows } = await database.pool.query(
      'select address from rowpost.email_suppression order by address',
    );
    expect(rows).to.deep.equal([{ address: 'kept@example.com' }, { address: 'removed@example.com' }]);
  });
});

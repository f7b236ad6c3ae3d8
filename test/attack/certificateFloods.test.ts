import { expect } from 'chai';
import { BOUNCES, fromSes, SECRETS, SNS_HOST } from '../support/carrierReports.js';
import { SNS_CERTIFICATE } from '../support/snsKey.js';
import { waitFor } from '../support/waitFor.js';
import { WebFixture } from '../api/webFixture.js';

const SET = `mutation ($input: email_carrier_webhookInput!) { Utility { set_email_webhook(input: $input) { kind } } }`;
const OWN_TOPIC = 'arn:aws:sns:eu-central-1:999999999999:email-events';
const FLOOD = 10;

describe('attack: reports that name certificates which are slow to fetch', () => {
  let fixture: WebFixture;
  let hostile: number;
  let other: number;
  /** What SNS was asked for and has not answered yet. */
  const asked = new Map<string, (pem: string) => void>();
  before(async () => {
    fixture = await WebFixture.start({
      readSns: (url) => new Promise((resolve) => asked.set(url.href, resolve)),
    });
    [hostile, other] = [await createTenant('hostile', OWN_TOPIC), await createTenant('other', SECRETS.ses)];
  });
  after(() => fixture.stop());

  const createTenant = async (name: string, secret: string): Promise<number> => {
    const { tenantid } = await fixture.createTenant(name);
    const { access_token: root } = await fixture.signIn(tenantid);
    const { errors } = await fixture.control(root, SET, { input: { kind: 'ses', secret } });
    expect(errors).to.equal(undefined);
    return tenantid;
  };
  const post = async (to: number, changes: Readonly<Record<string, unknown>>): Promise<number> => {
    const { headers, body } = fromSes(BOUNCES.ses('1', to), changes);
    return (await fixture.fetch(`/events/ses/${to}`, { method: 'POST', headers, body })).status;
  };

  it('leave room for those of other tenants', async () => {
    const certificates = Array.from(
      { length: FLOOD },
      (_, i) => `${SNS_HOST}/SimpleNotificationService-${String(i).padStart(32, '0')}.pem`,
    );
    const flood = certificates.map((SigningCertURL) =>
      post(hostile, { TopicArn: OWN_TOPIC, SigningCertURL }),
    );
    await waitFor('the flood to reach SNS', () => asked.size > 0);
    const report = post(other, {});
    const certificate = await waitFor('the certificate of another tenant', () =>
      [...asked.keys()].find((url) => !certificates.includes(url)),
    );
    asked.get(certificate)!(SNS_CERTIFICATE);
    expect(await report).to.equal(200);
    for (let answered = 0; answered < FLOOD; answered++) {
      const url = await waitFor('the next of the flood', () => certificates.find((each) => asked.has(each)));
      asked.get(url)!('no certificate');
      asked.delete(url);
    }
    expect(await Promise.all(flood)).to.deep.equal(Array(FLOOD).fill(403));
  });
});

import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../../api/webFixture.js';
import { cpuTimer } from '../../support/cpuTime.js';

const LINES = 49_000;

describe('attack: versions of an email that take long to compare', function () {
  let fixture: WebFixture;
  let victim: string;
  let cookie: string;

  before(async () => {
    fixture = await WebFixture.start();
    victim = (await fixture.signIn((await fixture.createTenant('victim')).tenantid)).access_token;
    const { tenantid } = await fixture.createTenant('hostile');
    const root = (await fixture.signIn(tenantid)).access_token;
    const change = async (document: string, input?: object): Promise<void> => {
      const { errors } = await fixture.control(root, document, { input });
      expect(errors, document).to.equal(undefined);
    };
    const of = (letter: string): object => {
      const lines = `${letter}\n`.repeat(LINES);
      return {
        sender: 'a@example.com',
        recipients: ['b@example.com'],
        subject: lines,
        preheader: lines,
        template: lines.repeat(2),
        text: lines.repeat(2),
      };
    };
    await change('mutation { set_email_apikey(apikey: "SG.x") { apikey } }');
    await change('mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }', {
      email_type: 'long',
      ...of('a'),
    });
    await change(
      'mutation ($input: email_typesInput) { update_email_type(email_type: "long", input: $input) { email_type } }',
      of('b'),
    );
    const signedIn = await fixture.fetch('/console/sign-in', {
      method: 'POST',
      redirect: 'manual',
      body: new URLSearchParams({
        tenant: String(tenantid),
        login: ROOT_LOGIN,
        password: ROOT_PASSWORD,
        next: '',
      }),
    });
    cookie = signedIn.headers
      .getSetCookie()
      .map((each) => each.split(';')[0])
      .join('; ');
  });
  after(() => fixture.stop());

  const compare = () => fixture.fetch('/console/emails/versions?type=long', { headers: { cookie } });

  it('are compared', async () => {
    const response = await compare();
    expect(response.status).to.equal(200);
    expect(await response.text()).to.include('Template (HTML)');
  });

  it('in turn with the requests of others', async () => {
    let isOver = false;
    const flood = Array.from({ length: 8 }, async () => {
      while (!isOver) {
        const response = await compare();
        expect(response.status).to.be.oneOf([200, 503]);
        await response.text();
      }
    });
    // The CPU time of all that ran before the response did.
    const times: number[] = [];
    while (times.length < 40) {
      const cpuMs = cpuTimer();
      expect((await fixture.graphql('/query', victim, '{ __typename }')).errors).to.equal(undefined);
      times.push(cpuMs());
      await delay(50);
    }
    isOver = true;
    await Promise.all(flood);
    times.sort((a, b) => a - b);
    // One comparison takes up to a tenth of a second, and there were several for each page.
    expect(times[20], times.map(Math.round).join(' ')).to.be.below(50);
    expect(times[35], times.map(Math.round).join(' ')).to.be.below(300);
  });
});

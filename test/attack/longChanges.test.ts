import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { codeOf, WebFixture } from '../api/webFixture.js';

const CHECK_MS = 100;
const TIMEOUT_MS = 1_500;

/** A request's mutations held a connection of the service for minutes, and with small pools the only one that others may use. */
describe('attack: changes that take long', () => {
  let fixture: WebFixture;
  let attacker: string;
  let neighbor: string;

  before(async () => {
    fixture = await WebFixture.start({ env: { PG_POOL: '10', REQUEST_TIMEOUT_MS: String(TIMEOUT_MS) } });
    const { templates } = fixture;
    // A render process takes a while to start.
    await templates.check({ templates: [{ name: 't', source: 't', syntax: 'jinja2', mode: 'text' }] });
    const [one, other] = [
      await fixture.createTenant('attacker', ''),
      await fixture.createTenant('neighbor', ''),
    ];
    attacker = (await fixture.signIn(one.tenantid)).access_token;
    neighbor = (await fixture.signIn(other.tenantid)).access_token;
    await fixture.control(attacker, 'mutation { set_email_apikey(apikey: "SG.test") { apikey } }');
    await fixture.control(
      attacker,
      `mutation { create_email_type(input: { email_type: "t", subject: "s", template: "t", sender: "a@example.com",
        recipients: ["b@example.com"] }) { email_type } }`,
    );
    const check = templates.check.bind(templates);
    Object.assign(templates, {
      check: async (job: Parameters<typeof check>[0]) => {
        await delay(CHECK_MS);
        return check(job);
      },
    });
  });
  after(async () => {
    Reflect.deleteProperty(fixture.templates, 'check');
    await fixture.stop();
  });

  it('end with their request, undone, and others list and change theirs', async () => {
    const updates = Array.from(
      { length: 100 },
      (_, n) => `a${n}: update_email_type(email_type: "t", input: { subject: "s${n}" }) { version }`,
    );
    const startedAtMs = performance.now();
    const attack = fixture.control(attacker, `mutation { ${updates.join(' ')} }`);
    await delay(CHECK_MS);
    const list = await fixture.control(neighbor, '{ role { login } }');
    const change = await fixture.control(
      neighbor,
      'mutation { create_role(input: { name: "x" }) { roleid } }',
    );
    expect([codeOf(list), codeOf(change)]).to.deep.equal([undefined, undefined]);
    expect(codeOf(await attack)).to.equal('REQUEST_TIMEOUT');
    expect(performance.now() - startedAtMs).to.be.below(100 * CHECK_MS);
    // What still ran has found its transaction ended, and changed nothing.
    await delay(2 * CHECK_MS);
    const { data } = await fixture.control(attacker, '{ email_types { subject version } }');
    expect(data).to.deep.equal({ email_types: [{ subject: 's', version: 1 }] });
  });
});

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { at, textAt, WebFixture } from '../../api/webFixture.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const MEGABYTE = 1_000_000;

describe('attack: fields of Utility and mutations that together have more texts than a response', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile');
    ({ access_token: token } = await fixture.signIn(tenantid));
  });
  after(() => fixture.stop());

  /** The most that the process keeps while the work runs, besides garbage. */
  async function heldWhile(work: () => Promise<void>): Promise<number> {
    collectGarbage();
    const before = process.memoryUsage().heapUsed;
    let most = 0;
    const timer = setInterval(() => {
      collectGarbage();
      most = Math.max(most, process.memoryUsage().heapUsed - before);
    }, 500);
    await work().finally(() => clearInterval(timer));
    return most;
  }

  const expectTooLarge = (response: unknown): void => {
    expect(at(response, 'data')).to.equal(null);
    expect(at(response, 'errors.0.extensions.code')).to.equal('DOCUMENT_TOO_COMPLEX');
  };

  it('are not kept until all previews are there', async () => {
    const text = "{{ '€' * 1800000 }}";
    const input = {
      subject: 's',
      sender: 'a@example.com',
      recipients: ['b@example.com'],
      template: "{{ '€' * 900000 }}",
      preheader: text,
      text,
    };
    const fields = Array.from(
      { length: 20 },
      (_, index) => `a${index}: preview_email(input: $input, context: {}) { html text }`,
    );
    const held = await heldWhile(async () => {
      const query = `query ($input: email_typesInput) { Utility { ${fields.join(' ')} } }`;
      expectTooLarge(await fixture.control(token, query, { input }));
    });
    // Of two bytes a character: 16 MiB, and what is being composed.
    expect(held).to.be.below(100 * MEGABYTE);
    expect(fixture.engine.responses.heldBytes).to.equal(0);
  });

  it('are not kept until all mutations are done', async () => {
    await fixture.control(token, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    const input = {
      email_type: 'large',
      subject: 's',
      sender: 'a@example.com',
      recipients: ['b@example.com'],
      template: '€'.repeat(190_000),
    };
    const made = await fixture.control(
      token,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      { input },
    );
    expect(textAt(made, 'data.create_email_type.email_type')).to.equal('large');
    const fields = Array.from(
      { length: 99 },
      (_, index) => `a${index}: update_email_type(email_type: "large", input: {subject: "new"}) { template }`,
    );
    expectTooLarge(await fixture.control(token, `mutation { ${fields.join(' ')} }`));
    const kept = await fixture.control(token, '{ email_types { subject } }');
    expect(textAt(kept, 'data.email_types.0.subject')).to.equal('s');
  });

  it('are answered as before within the limit', async () => {
    const text = "{{ '€' * 1000000 }}";
    const input = {
      subject: 's',
      sender: 'a@example.com',
      recipients: ['b@example.com'],
      template: 'x',
      text,
    };
    const response = await fixture.control(
      token,
      'query ($input: email_typesInput) { Utility { a: preview_email(input: $input, context: {}) { text } b: preview_email(input: $input, context: {}) { text } } }',
      { input },
    );
    expect(textAt(response, 'data.Utility.a.text')).to.have.length(MEGABYTE);
    expect(textAt(response, 'data.Utility.b.text')).to.have.length(MEGABYTE);
  });
});

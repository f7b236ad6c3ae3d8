import { expect } from 'chai';
import { at, WebFixture } from '../../api/webFixture.js';

const PREVIEW = `{ Utility { preview_email(target: "large", input: {email_type: "x", sender: "a@example.com",
  recipients: ["b@example.com"], subject: "s", template: "t"}) { subject error { code message } } } }`;

describe('attack: previews of large rows', () => {
  let fixture: WebFixture;
  let root: string;
  let tenantid: number;

  before(async () => {
    fixture = await WebFixture.start({ env: { MAX_RESPONSE_BYTES: '4000000' } });
    ({ tenantid } = await fixture.createTenant(
      'hostile',
      `create table large (id int primary key, text text);
       create table keys (id text primary key);
       insert into large values (1, repeat('a', 20000000));
       insert into keys select repeat(chr(64 + n), 100000) from generate_series(1, 100) n`,
    ));
    root = (await fixture.signIn(tenantid)).access_token;
    await fixture.control(root, 'mutation { set_email_apikey(apikey: "SG.x") { apikey } }');
  });
  after(() => fixture.stop());

  it('do not load them', async () => {
    const result = await fixture.control(root, PREVIEW);
    expect(at(result, 'data.Utility.preview_email')).to.deep.equal({
      subject: null,
      error: { code: 'EVENT_TOO_LARGE', message: "a row of more than 8 MiB can't be emailed about" },
    });
  });

  it('and the keys of rows count as a response', async () => {
    const { errors } = await fixture.control(root, '{ Utility { recent_rows(target: "keys") { label } } }');
    expect(errors?.[0]?.extensions.code).to.equal('DOCUMENT_TOO_COMPLEX');
    expect(fixture.engine.responses.heldBytes).to.equal(0);
  });
});

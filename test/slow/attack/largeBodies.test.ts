import { expect } from 'chai';
import { WebFixture } from '../../api/webFixture.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

/** Costs 0.2 s to read. */
const NUMBERS = `{"query": "{ __typename }", "more": [${'1.0,'.repeat(250_000)}1]}`;
/** Each error's place is counted from the first line: 20 of them cost 3 s. */
const LINES = `${'\n'.repeat(500_000)}{ ${Array.from({ length: 100 }, (_, i) => `x${i}`).join(' ')} }`;

describe('attack: bodies that take long to parse', () => {
  let fixture: WebFixture;
  let nobody: string;
  let other: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile', 'create table note (id int primary key)');
    const { access_token: root } = await fixture.signIn(tenantid);
    await fixture.control(root, '{ Utility { anonymous_logins(enable: true) } }');
    const visit = await fixture.postJson('/anonauth', { tenantid });
    nobody = ((await visit.json()) as { access_token: string }).access_token;
    const quiet = await fixture.createTenant('other', 'create table note (id int primary key)');
    other = (await fixture.signIn(quiet.tenantid)).access_token;
  });
  after(() => fixture.stop());

  async function send(body: string): Promise<number> {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${nobody}` };
    const response = await fixture.fetch('/query', { method: 'POST', headers, body });
    await response.arrayBuffer();
    return response.status;
  }

  it('count as planning: others are served in between', async () => {
    await fixture.graphql('/query', other, '{ note { id } }');
    const state = { isOver: false, read: 0 };
    const attacks = Array.from({ length: 8 }, async () => {
      while (!state.isOver) if ((await send(NUMBERS)) === 200) state.read += 1;
    });
    const startedAt = performance.now();
    while (performance.now() - startedAt < 4_000) {
      expect((await fixture.graphql('/query', other, '{ note { id } }')).errors).to.equal(undefined);
    }
    state.isOver = true;
    await Promise.all(attacks);
    // 50 ms a second, which is exceeded by one body at most each time, and what may be saved up.
    expect(state.read).to.be.below(10);
  });

  for (const [what, type, most, body] of [
    [
      'a form',
      'application/x-www-form-urlencoded',
      8_000,
      Array.from({ length: 150_000 }, (_, index) => `${index.toString(36)}a`).join('&'),
    ],
    [
      'a multipart form',
      'multipart/form-data; boundary="b"',
      1_000,
      `${'--b\r\ncontent-disposition: form-data; name="a"\r\n\r\nx\r\n'.repeat(2_000)}--b--\r\n`,
    ],
  ] as const) {
    it(`are limited in fields: ${what}`, async () => {
      const longestMs = watchEventLoop();
      const response = await fixture.fetch('/query', {
        method: 'POST',
        headers: { 'content-type': type, authorization: `Bearer ${other}` },
        body,
      });
      expect(await response.text()).to.include(`The form has more than ${most} fields.`);
      const heldMs = longestMs();
      expect(response.status).to.equal(400);
      // It was 400 to 1,100.
      expect(heldMs).to.be.below(200);
    });
  }

  it('are limited in parts by the boundary that they are parsed with', async () => {
    const response = await fixture.fetch('/query', {
      method: 'POST',
      headers: {
        'content-type': 'multipart/form-data; x="; boundary=other"; boundary=b',
        authorization: `Bearer ${other}`,
      },
      body: `${'--b\r\ncontent-disposition: form-data; name="query"\r\n\r\n{ note { id } }\r\n'.repeat(2_000)}--b--\r\n`,
    });
    expect(response.status).to.equal(400);
    expect(await response.text()).to.include('The multipart form does not parse.');
  });

  it('are limited in lines', async () => {
    const longestMs = watchEventLoop();
    const response = await fixture.graphql('/query', other, LINES);
    const heldMs = longestMs();
    expect(response.errors?.map(({ extensions }) => extensions.code)).to.deep.equal(['DOCUMENT_TOO_COMPLEX']);
    expect(heldMs).to.be.below(300);
  });
});

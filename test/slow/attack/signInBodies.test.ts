import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WebFixture, type AuthBody } from '../../api/webFixture.js';
import { waitFor } from '../../support/waitFor.js';
import { watchEventLoop } from '../../support/loopBlocks.js';

/** More than the system buffers for a connection, so that a response that nobody reads stays with the service. */
const ANSWER_BYTES = 12_000_000;
const LONG_NAME = 'x'.repeat(55);

/** Tables with so many long names that the response of a sign-in, which describes them, is large. */
const TABLES = Array.from({ length: 160 }, (_, table) => {
  const columns = Array.from({ length: 150 }, (_column, i) => `${LONG_NAME}_${i} text`);
  return `create table t${table} (id int primary key, ${columns.join(', ')});`;
}).join('\n');

describe('attack: sign-in request bodies', () => {
  let fixture: WebFixture;

  before(async () => {
    fixture = await WebFixture.start({
      env: {
        MAX_RESPONSES_IN_FLIGHT_BYTES: '80000000',
        RESPONSE_STALL_MS: '5000',
        RESPONSE_TIMEOUT_MS: '10000',
      },
    });
  });
  after(() => fixture.stop());

  it('are refused above the size of any valid sign-in', async () => {
    const numbers = `{"tenantid": 1, "more": [${'1.0,'.repeat(50_000)}1]}`;
    const part = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
    for (const path of ['/auth', '/anonauth', '/oidc', '/signin', '/signin/oidc', '/console/sign-in']) {
      for (const [type, body] of [
        ['application/json', numbers],
        ['application/x-www-form-urlencoded', 'a&'.repeat(100_000)],
        ['multipart/form-data; boundary=b', `${part.repeat(5_000)}--b--\r\n`],
      ] as const) {
        const response = await fixture.fetch(path, {
          method: 'POST',
          headers: { 'content-type': type },
          body,
        });
        expect(response.status, `${path} ${type}`).to.equal(413);
      }
    }
    const { tenantid } = await fixture.createTenant('wordy');
    const login = '\u{1F600}'.repeat(512);
    const longest = new URLSearchParams({ tenantid: String(tenantid), login, password: login });
    const response = await fixture.fetch('/auth', { method: 'POST', body: longest });
    expect(response.status).to.equal(401);
  });

  it('leave room for others when their responses are not read', async () => {
    const hostile = await fixture.createTenant('hostile', TABLES);
    const longestMs = watchEventLoop();
    const { refresh_token } = await fixture.signIn(hostile.tenantid);
    const heldMs = longestMs();
    // The first sign-in describes the schema, others are served in between: it held the event loop for 1.5 s.
    expect(heldMs).to.be.below(1_000);
    const { tenantid } = await fixture.createTenant('other');
    const headers = { authorization: `Bearer ${refresh_token}` };
    const whole = await (await fixture.fetch('/auth', { headers })).text();
    expect(whole.length).to.be.above(ANSWER_BYTES);
    expect((JSON.parse(whole) as AuthBody).tenantid).to.equal(hostile.tenantid);

    const sockets = Array.from({ length: 12 }, () => ask(refresh_token));
    const status = async (): Promise<number> => {
      const response = await fixture.fetch('/auth', { headers });
      await response.arrayBuffer();
      return response.status;
    };
    await waitFor('the hostile tenant to have its fill', async () => (await status()) === 503);
    expect((await fixture.signIn(tenantid)).tenantid).to.equal(tenantid);
    await waitFor('them to be given up', async () => (await status()) === 200, {
      intervalMs: 500,
    });
    for (const socket of sockets) socket.destroy();
  });

  it('and undecodable paths are 404, not an internal error', async () => {
    for (const path of ['/mailbox/%E0', '/mailbox/%E0%A4%A/body', '/events/sendgrid/%E0'])
      expect((await fixture.fetch(path, { method: path.startsWith('/e') ? 'POST' : 'GET' })).status).to.equal(
        404,
      );
  });

  function ask(token: string): Socket {
    const socket = connect(fixture.web.port, '127.0.0.1').pause();
    socket.on('error', () => undefined);
    socket.write(`GET /auth HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`);
    return socket;
  }
});

import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WebFixture } from '../../api/webFixture.js';
import { waitFor } from '../../support/waitFor.js';

const MAX_WAITING = 100;
const WRONG = { tenantid: 1, login: 'nobody', password: 'wrong' };
const PROBE = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n';

describe('attack: requests that are sent ahead of the response to an earlier one', () => {
  let fixture: WebFixture;
  const sockets: Socket[] = [];
  before(async () => {
    const env = {
      SIGN_INS_PER_ADDRESS: '0',
      SIGN_IN_FAILURES_PER_LOGIN: '0',
      SIGN_IN_FAILURES_BEFORE_DELAY: '1',
    };
    fixture = await WebFixture.start({ env });
    // From now on, signing in with this login takes a second.
    await Promise.all(Array.from({ length: 20 }, () => fixture.postJson('/auth', WRONG)));
  });
  after(async () => {
    for (const socket of sockets) socket.destroy();
    await fixture.stop();
  });

  const send = (...requests: readonly string[]): Socket => {
    const socket = connect(fixture.web.port, '127.0.0.1').on('error', () => undefined);
    sockets.push(socket);
    socket.write(requests.join(''));
    return socket;
  };
  const post = (path: string, body: object, headers: readonly string[] = []): string => {
    const text = JSON.stringify(body);
    const all = ['host: x', 'content-type: application/json', `content-length: ${text.length}`, ...headers];
    return [`POST ${path} HTTP/1.1`, ...all, '', text].join('\r\n');
  };

  it('hold nothing once their connection is gone', async () => {
    const { tenantid } = await fixture.createTenant('hostile', 'create table note (id int primary key)');
    const { access_token: token } = await fixture.signIn(tenantid);
    const question = { query: '{ note { id } }' };
    const ask = (): Promise<Response> =>
      fixture.postJson('/query', question, { authorization: `Bearer ${token}` });
    const socket = send(
      post('/auth', WRONG),
      post('/query', question, [`authorization: Bearer ${token}`]).repeat(10),
    );
    for (let asked = 0; asked < 5; asked++) expect((await ask()).status).to.equal(200);
    socket.destroy();
    await fixture.postJson('/auth', WRONG);
    expect(fixture.engine.responses.heldBytes).to.equal(0);
  });

  it('are answered in their order', async () => {
    let responses = '';
    send(post('/auth', WRONG), PROBE).on('data', (data: Buffer) => (responses += data.toString()));
    await waitFor('both responses', () => responses.includes('{"status":"ok"}'));
    expect(responses.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });

  it('are a limited number', async () => {
    const socket = send(post('/auth', WRONG), PROBE.repeat(MAX_WAITING + 1)).resume();
    await waitFor('the connection to be closed', () => socket.closed);
  });
});

import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { WebFixture } from '../../api/webFixture.js';
import { waitFor } from '../../support/waitFor.js';

/** More than the system buffers for a connection, so that a response that nobody reads stays with the service. */
const ANSWER_BYTES = 12_000_000;
const TEMPLATE_CHARACTERS = 180_000;
const TEMPLATES = 60;
const STALL_MS = 10_000;
const TIMEOUT_MS = 20_000;

const SELDOM = { intervalMs: 100 };

/** A connection that asks, and reads nothing until it is told to. */
function ask(fixture: WebFixture, path: string, token: string, query: string): Socket {
  const body = JSON.stringify({ query });
  const socket = connect(fixture.web.port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write(
    `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: close\r\n\r\n${body}`,
  );
  return socket;
}

/** Reads what there is to the end. @returns how many bytes came */
function drain(socket: Socket): Promise<number> {
  return new Promise((resolve) => {
    socket.once('close', () => resolve(socket.bytesRead));
    socket.resume();
  });
}

describe('unread responses', () => {
  let fixture: WebFixture;
  let hostile: string;
  let other: string;

  before(async () => {
    fixture = await WebFixture.start({
      env: {
        MAX_RESPONSES_IN_FLIGHT_BYTES: '64000000',
        RESPONSE_STALL_MS: String(STALL_MS),
        RESPONSE_TIMEOUT_MS: String(TIMEOUT_MS),
      },
    });
    const makeTenant = async (name: string, rows: number, bytes: number): Promise<string> => {
      const { tenantid } = await fixture.createTenant(
        name,
        `create table note (id int primary key, body text);
         insert into note select i, repeat('x', ${bytes}) from generate_series(1, ${rows}) i;`,
      );
      return (await fixture.signIn(tenantid)).access_token;
    };
    hostile = await makeTenant('hostile', 12, ANSWER_BYTES / 12);
    other = await makeTenant('other', 1_000, 4_000);
  });
  after(() => fixture.stop());

  /** Requests whose response is over, read or not. */
  const ended = async (path: string): Promise<number> => {
    const metrics = await (await fixture.fetch('/metrics')).text();
    const counts = metrics.matchAll(/^rowpost_http_request_seconds_count\{.*route="(.*?)".*\} (\d+)$/gm);
    return [...counts].reduce((sum, [, route, count]) => sum + (route === path ? Number(count) : 0), 0);
  };
  const status = async (token: string, query: string): Promise<number> => {
    const response = await fixture.postJson('/query', { query }, { authorization: `Bearer ${token}` });
    await response.arrayBuffer();
    return response.status;
  };

  it("leave room for other tenants' responses, and are abandoned when nobody reads", async () => {
    const before = await ended('/query');
    const sockets = Array.from({ length: 10 }, () => ask(fixture, '/query', hostile, '{ note { body } }'));
    let probes = 0;
    await waitFor('the hostile tenant to have its fill', async () => {
      probes += 1;
      return (await status(hostile, '{ note { body } }')) === 503;
    });
    for (let request = 0; request < 10; request++) {
      probes += 1;
      expect(await status(other, '{ note(limit: 1000) { id body } }')).to.equal(200);
    }
    await waitFor('them to be given up', async () => (await ended('/query')) >= before + 10 + probes, SELDOM);
    expect(await status(hostile, '{ note { body } }')).to.equal(200);
    for (const socket of sockets) expect(await drain(socket)).to.be.below(ANSWER_BYTES);
  });

  it('are counted and abandoned at /roles_pbac as well', async () => {
    const setKey = 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }';
    expect((await fixture.control(hostile, setKey)).errors).to.equal(undefined);
    const create = `mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }`;
    const input = {
      email_type: 'long',
      sender: 'shop@example.com',
      recipients: ['ada@example.com'],
      subject: 'Long',
      template: 'x'.repeat(TEMPLATE_CHARACTERS),
    };
    expect((await fixture.control(hostile, create, { input })).errors).to.equal(undefined);
    const aliases = Array.from({ length: TEMPLATES }, (_, i) => `a${i}: email_types { template }`).join(' ');
    const before = await ended('/roles_pbac');
    const sockets = Array.from({ length: 10 }, () => ask(fixture, '/roles_pbac', hostile, `{ ${aliases} }`));
    await waitFor('them to be given up', async () => (await ended('/roles_pbac')) >= before + 10, SELDOM);
    for (const socket of sockets) expect(await drain(socket)).to.be.below(TEMPLATES * TEMPLATE_CHARACTERS);
  });

  it('may be read slowly, but not forever', async () => {
    const before = await ended('/query');
    const socket = ask(fixture, '/query', hostile, '{ note { body } }');
    // 64 KB each time: 4 MB until the timeout.
    const trickle = setInterval(() => socket.resume().once('data', () => socket.pause()), 300);
    await waitFor('the response to end', async () => (await ended('/query')) > before, SELDOM);
    clearInterval(trickle);
    // The system may have buffered the rest, or some of it.
    expect(socket.bytesRead).to.be.within(100_000, ANSWER_BYTES * 0.75);
    socket.destroy();
  });

  it('arrive complete when read with pauses', async () => {
    const socket = ask(fixture, '/query', hostile, '{ note { body } }');
    const pauses = setInterval(() => socket.pause(), 100);
    const goOn = setInterval(() => socket.resume(), 150);
    const bytes = await new Promise<number>((resolve) =>
      socket.once('close', () => resolve(socket.bytesRead)),
    );
    clearInterval(pauses);
    clearInterval(goOn);
    expect(bytes).to.be.above(ANSWER_BYTES);
  });
});

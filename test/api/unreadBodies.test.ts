import { once } from 'node:events';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { WebFixture } from './webFixture.js';

const MIB = 1024 * 1024;
const BODY_BYTES = 4 * MIB;
const PIECE_BYTES = 128 * 1024;
/** What is sent after the response. */
const LAST_BYTES = 4 * PIECE_BYTES;
const FINAL = /^(?:HTTP\/1.1 100 Continue\r\n\r\n)?HTTP\/1.1 ([2-5]\d\d) /;
const TRIES = 10;
const JSON_TYPE = 'content-type: application/json';
const FORM = 'content-type: application/x-www-form-urlencoded';

/** Requests with bodies that nobody reads to the end, and the responses. */
const REFUSED: readonly (readonly [
  what: string,
  line: string,
  status: number,
  headers: readonly string[],
])[] = [
  ['a body that is too large, at /query', 'POST /query', 413, [JSON_TYPE, 'authorization: TOKEN']],
  ['a body that is too large, at /roles_pbac', 'POST /roles_pbac', 413, [JSON_TYPE, 'authorization: TOKEN']],
  [
    'a large multipart form',
    'POST /query',
    413,
    ['content-type: multipart/form-data; boundary=b', 'authorization: TOKEN'],
  ],
  ['a request without a token', 'POST /query', 401, [JSON_TYPE]],
  ['another media type', 'POST /query', 415, ['content-type: text/plain', 'authorization: TOKEN']],
  [
    'a body with an encoding',
    'POST /query',
    415,
    [JSON_TYPE, 'content-encoding: gzip', 'authorization: TOKEN'],
  ],
  ['another method', 'PUT /query', 405, [JSON_TYPE]],
  [
    'a body of a query in the URL',
    'GET /query?query=%7B__typename%7D',
    200,
    [JSON_TYPE, 'authorization: TOKEN'],
  ],
  ['a sign-in', 'POST /auth', 413, [JSON_TYPE]],
  ['a sign-in of an anonymous client', 'POST /anonauth', 413, [JSON_TYPE]],
  ['a sign-in through a provider', 'POST /oidc', 413, [JSON_TYPE]],
  ['the sign-in form', 'POST /signin', 413, [FORM]],
  ['the form of a provider', 'POST /signin/oidc', 413, [FORM]],
  ["the console's sign-in form", 'POST /console/sign-in', 413, [FORM]],
  ["another of the console's forms", 'POST /console/sign-out', 413, [FORM]],
  ['a report of a carrier', 'POST /events/postmark/1', 413, [JSON_TYPE]],
  ['a report to nobody', 'POST /events/nobody/1', 404, [JSON_TYPE]],
  ['an unsubscription', 'POST /unsubscribe/x', 413, [FORM]],
  ['an upload', 'PUT /files/x', 403, []],
  ['an upload by another method', 'POST /files/x', 405, []],
  ['a path that does not exist', 'POST /nothing', 404, [JSON_TYPE]],
  ['a path that is not plain', 'POST /query#x', 404, [JSON_TYPE]],
  ['two content types', 'POST /query', 400, [JSON_TYPE, JSON_TYPE]],
  ['a probe', 'POST /livez', 405, [JSON_TYPE]],
  ['a preflight', 'OPTIONS /query', 204, ['access-control-request-method: POST']],
];

/** In a thread of its own: it sends while the server responds. */
const FETCH = `
  const { parentPort, workerData: { url, token, tries, sizes } } = require('node:worker_threads');
  const headers = { 'content-type': 'application/json', authorization: token };
  const send = async (bytes) => {
    try {
      const response = await fetch(url, { method: 'POST', headers, body: Buffer.alloc(bytes, ' ') });
      return response.status + ' ' + (await response.json()).code;
    } catch (error) {
      return String(error.cause ?? error);
    }
  };
  (async () => {
    const outcomes = [];
    for (const bytes of sizes)
      for (let at = 0; at < tries; at += 5)
        outcomes.push(...(await Promise.all(Array.from({ length: 5 }, () => send(bytes)))));
    parentPort.postMessage(outcomes);
  })();`;

describe('a body that is not read to the end', () => {
  let fixture: WebFixture;
  let token: string;
  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
    const { tenantid } = await fixture.createTenant('shop');
    token = `Bearer ${(await fixture.signIn(tenantid)).access_token}`;
  });
  after(() => fixture.stop());

  /** Sends all of a request, although the response arrives before its last pieces. @returns what is received, without errors */
  async function exchange(
    line: string,
    headers: readonly string[],
    body: Buffer,
    then = '',
  ): Promise<string> {
    const socket = connect({ port: fixture.web.port, host: '127.0.0.1', allowHalfOpen: true });
    let received = '';
    const failed = once(socket, 'close').then(() => Promise.reject(new Error(`closed after ${received}`)));
    failed.catch(() => undefined);
    const ended = once(socket, 'end');
    ended.catch(() => undefined);
    const responded = new Promise<void>((resolve) => {
      socket.setEncoding('latin1').on('data', (text: string) => {
        received += text;
        if (FINAL.test(received)) resolve();
      });
    });
    const send = (data: Buffer | string): Promise<unknown> =>
      Promise.race([failed, new Promise<void>((resolve) => socket.write(data, () => resolve()))]);
    try {
      const head = [`${line} HTTP/1.1`, 'host: localhost', ...headers];
      await send(`${head.join('\r\n').replace('TOKEN', token)}\r\n\r\n`);
      for (let from = 0; from < body.length; from += PIECE_BYTES) {
        if (from + LAST_BYTES >= body.length) await Promise.race([failed, responded]);
        await send(body.subarray(from, from + PIECE_BYTES));
        // The server's turn.
        await new Promise(setImmediate);
      }
      if (then !== '') await send(then);
      socket.end();
      await Promise.race([failed, ended]);
      return received;
    } finally {
      socket.destroy();
    }
  }
  const withLength = (bytes: number): string => `content-length: ${bytes}`;
  const chunked = (bytes: number): Buffer =>
    Buffer.concat([
      Buffer.from(`${bytes.toString(16)}\r\n`),
      Buffer.alloc(bytes, ' '),
      Buffer.from('\r\n0\r\n\r\n'),
    ]);

  for (const [what, line, status, headers] of REFUSED) {
    it(`does not cost the client its response: ${what}`, async () => {
      for (const closing of [[], ['connection: close'], ['expect: 100-continue']]) {
        const both = [...headers, ...closing];
        const bodies = [
          [withLength(BODY_BYTES), Buffer.alloc(BODY_BYTES, ' ')],
          ['transfer-encoding: chunked', chunked(BODY_BYTES)],
        ] as const;
        for (const [framing, body] of bodies) {
          const received = await exchange(line, [...both, framing], body);
          expect(FINAL.exec(received)?.[1], `${closing.join()} ${framing}`).to.equal(String(status));
        }
      }
    });
  }

  it("reaches Node's fetch, whatever the size, however many at once", async () => {
    const worker = new Worker(FETCH, {
      eval: true,
      workerData: { url: `${fixture.url}/query`, token, tries: TRIES, sizes: [MIB + 1, 2 * MIB, 8 * MIB] },
    });
    const [outcomes] = (await once(worker, 'message')) as [string[]];
    expect(outcomes).to.have.length(3 * TRIES);
    expect(new Set(outcomes)).to.deep.equal(new Set(['413 BODY_TOO_LARGE']));
  });

  it('reaches a client that waits for 100 Continue', async () => {
    for (let tries = 0; tries < TRIES; tries++) {
      const request = httpRequest(`${fixture.url}/query`, {
        method: 'POST',
        headers: {
          authorization: token,
          'content-type': 'application/json',
          expect: '100-continue',
          'content-length': 2 * MIB,
        },
      });
      request.once('continue', () => request.end(Buffer.alloc(2 * MIB)));
      request.flushHeaders();
      const [response] = (await once(request, 'response')) as [{ statusCode: number }];
      expect(response.statusCode).to.equal(413);
      request.destroy();
    }
  });

  it('leaves the connection to the next request, where the response does not close it', async () => {
    const next = 'GET /livez HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n';
    const received = await exchange(
      'POST /query',
      [JSON_TYPE, withLength(BODY_BYTES)],
      Buffer.alloc(BODY_BYTES),
      next,
    );
    expect(received.match(/HTTP\/1.1 \d+/g)).to.deep.equal(['HTTP/1.1 401', 'HTTP/1.1 200']);
  });
});

import { readdirSync, readFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

const API = fileURLToPath(new URL('../../src/api/', import.meta.url));

interface Route {
  readonly method: string;
  readonly target: string;
}

/** All routes of src/api whose paths are written out, with something for each parameter, and pages of the console. */
const ROUTES: readonly Route[] = [
  ...readdirSync(API, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => [
      ...readFileSync(path.join(API, file), 'utf8').matchAll(/\.(get|post)\(\s*['`](\/[^'`$]*)['`]/g),
    ])
    .map(([, method = '', target = '']) => ({
      method: method.toUpperCase(),
      target: target.replace(/[{}]/g, '').replace(/:\w+/g, '1'),
    })),
  ...['', '/sign-in', '/emails', '/tables', '/rules', '/roles', '/deliveries', '/sign-out'].flatMap(
    (page) => [
      { method: 'GET', target: `/console${page}` },
      { method: 'POST', target: `/console${page}` },
    ],
  ),
  { method: 'GET', target: '/query' },
  { method: 'POST', target: '/query' },
  { method: 'POST', target: '/roles_pbac' },
  { method: 'GET', target: '/files/x' },
  { method: 'PUT', target: '/files/x' },
];

interface Oddity {
  readonly name: string;
  /** Undefined: what the request gets without the oddity. */
  readonly status?: number;
  readonly target?: (target: string) => string;
  readonly headers?: readonly string[];
  readonly body?: string;
  readonly host?: string;
}

const ODDITIES: readonly Oddity[] = [
  { name: 'two tokens', status: 400, headers: ['Authorization: Bearer a', 'authorization: Bearer b'] },
  { name: 'two hosts', status: 400, headers: ['Host: evil.example'] },
  { name: 'no host', status: 400, host: '' },
  {
    name: 'two types of content',
    status: 400,
    headers: ['Content-Type: text/plain', 'Content-Type: application/json'],
  },
  { name: 'two idempotency keys', status: 400, headers: ['Idempotency-Key: a', 'Idempotency-Key: b'] },
  {
    name: 'a length beside chunks',
    status: 400,
    headers: ['Content-Length: 5', 'Transfer-Encoding: chunked'],
    body: '0\r\n\r\n',
  },
  { name: 'two lengths', status: 400, headers: ['Content-Length: 0', 'Content-Length: 1'] },
  {
    name: 'an encoding that is not just chunked',
    status: 400,
    headers: ['Transfer-Encoding: gzip, chunked'],
    body: '0\r\n\r\n',
  },
  { name: 'a space before a colon', status: 400, headers: ['X-A : b'] },
  { name: 'an unknown expectation', status: 417, headers: ['Expect: 200-ok'] },
  { name: 'an absolute target', status: 404, target: (target) => `http://evil.example${target}` },
  { name: 'another method in a header', headers: ['X-HTTP-Method-Override: DELETE', 'X-HTTP-Method: PUT'] },
  { name: 'another path in a header', headers: ['X-Original-URL: /metrics', 'X-Rewrite-URL: /metrics'] },
  { name: 'another host', host: 'evil.example' },
  { name: 'a forwarded host', headers: ['X-Forwarded-Host: evil.example', 'X-Forwarded-Proto: ftp'] },
  { name: 'a range', headers: ['Range: bytes=0-0'] },
  { name: 'an upgrade', headers: ['Connection: upgrade', 'Upgrade: h2c'] },
];

describe('attack: a request that a proxy in front may understand in another way', () => {
  let fixture: WebFixture;
  before(async () => {
    fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '0' } });
  });
  after(() => fixture.stop());

  const send = async ({ method, target }: Route, oddity: Omit<Oddity, 'name'> = {}): Promise<string> => {
    const { host = 'localhost', headers = [], body = '' } = oddity;
    const lines = [
      `${method} ${oddity.target?.(target) ?? target} HTTP/1.1`,
      ...(host === '' ? [] : [`Host: ${host}`]),
      ...headers,
      ...(headers.some((header) => /^connection:/i.test(header)) ? [] : ['Connection: close']),
      ...(method === 'GET' || /length|transfer/i.test(headers.join()) ? [] : ['Content-Length: 0']),
    ];
    const socket = connect(fixture.web.port, '127.0.0.1');
    let response = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      response += part;
      // The response to an upgrade may keep the connection open.
      if (response.includes('\r\n\r\n')) socket.end();
    });
    socket.on('error', () => undefined);
    socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`);
    await once(socket, 'close');
    return response;
  };
  const statusOf = (response: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(response)?.[1]);

  it('is sent to every route', () => {
    expect(ROUTES.length).to.be.above(35);
    for (const target of ['/auth', '/oidc', '/console', '/metrics', '/mailbox']) {
      expect(ROUTES.map((route) => route.target)).to.include(target);
    }
  });

  for (const oddity of ODDITIES) {
    it(`${oddity.name}: ${oddity.status === undefined ? 'is ignored' : `gets ${oddity.status}`} everywhere`, async () => {
      for (const route of ROUTES) {
        // The metrics are closed to what a proxy passed on.
        if (
          route.target === '/metrics' &&
          /forwarded|original/.test(oddity.headers?.join().toLowerCase() ?? '')
        )
          continue;
        const expected = oddity.status ?? statusOf(await send(route));
        const response = await send(route, oddity);
        const what = `${route.method} ${route.target}\n${response.slice(0, 300)}`;
        expect(statusOf(response), what).to.equal(expected);
        expect(response, what).not.to.contain('evil.example');
      }
    });
  }

  it('a compressed body: is not unpacked anywhere', async () => {
    for (const route of ROUTES.filter(({ method }) => method !== 'GET')) {
      const headers = ['Content-Encoding: gzip', 'Content-Type: application/json', 'Content-Length: 2'];
      const status = statusOf(await send(route, { headers, body: '{}' }));
      expect(status, route.target).to.be.within(300, 499);
    }
  });
});

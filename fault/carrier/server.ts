// A carrier of its own mind, in a process of its own, that keeps its own books. Prints its port.
//   POST /v3/mail/send     a call as to SendGrid; what follows depends on its API key
//   POST /emails           a call as to Resend, which honors idempotency keys
//   GET  anything else     what verifies a key
//   GET  /smtp             the port of the SMTP server
//   PUT  /behaviors       { [apiKey]: Behavior }, for the keys named
//   PUT  /secrets          [{ name, secret }], to be looked for where none belongs
//   GET  /ledger?from=n    entries from the n-th on
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { namesIn, type Canary } from '../rig/canaries.js';
import { ACCEPT, accepts, type Behavior, type ProviderEntry } from './ledger.js';
import { IdempotencyKeys, readEmail } from './emails.js';
import { startSmtpServer } from './smtpServer.js';

const entries: ProviderEntry[] = [];
const behaviors = new Map<string, Behavior>();
let canaries: readonly Canary[] = [];

const DRIP_MS = 50;
/** Latency of a nearby carrier. */
const ANSWER_MS = 5;
const MAX_HTML = 500;

const keys = new IdempotencyKeys();
const smtpPort = startSmtpServer({ record: (entry) => void entries.push(entry), canaries: () => canaries });

const server = createServer((request, response) => {
  void handle(request, response);
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://carrier');
  const apiKey = (request.headers.authorization ?? '').replace(/^Bearer /, '');
  const behavior = behaviors.get(apiKey) ?? ACCEPT;
  if (behavior.kind === 'reset-before') {
    request.socket.resetAndDestroy();
    return;
  }
  const body = await readBody(request).catch(() => undefined);
  // The caller was killed while writing.
  if (body === undefined) return;
  if (url.pathname === '/behaviors') {
    const given = Object.entries(JSON.parse(body) as Record<string, Behavior>);
    for (const [key, wanted] of given) behaviors.set(key, wanted);
    response.end();
  } else if (url.pathname === '/secrets') {
    canaries = JSON.parse(body) as Canary[];
    response.end();
  } else if (url.pathname === '/ledger') {
    response.end(JSON.stringify(entries.slice(Number(url.searchParams.get('from')))));
  } else if (url.pathname === '/smtp') {
    response.end(String(await smtpPort));
  } else if (request.method === 'GET') {
    response.end('{}');
  } else {
    const headers = JSON.stringify({ ...request.headers, authorization: '' });
    const key = request.headers['idempotency-key'];
    await takeCall(response, {
      path: url.pathname,
      apiKey,
      idempotencyKey: typeof key === 'string' ? key : undefined,
      behavior,
      body,
      headers,
    });
  }
}

const OTHER_PAYLOAD: Behavior = {
  kind: 'reply',
  status: 409,
  body: '{"name":"invalid_idempotent_request","message":"used with another payload"}',
};

interface Call {
  readonly path: string;
  readonly idempotencyKey: string | undefined;
  readonly apiKey: string;
  readonly behavior: Behavior;
  readonly body: string;
  /** Without the one that holds the key. */
  readonly headers: string;
}

async function takeCall(response: ServerResponse, call: Call): Promise<void> {
  const { apiKey, idempotencyKey, body, headers } = call;
  const email = readEmail(call.path, body);
  const position = entries.length;
  const id = `message-${position}`;
  const honored = idempotencyKey === undefined ? undefined : keys.take(apiKey, idempotencyKey, body, id);
  const behavior = honored?.kind === 'other' ? OTHER_PAYLOAD : call.behavior;
  entries.push({
    ...email,
    apiKey,
    html: email.html.slice(0, MAX_HTML),
    receivedAtMs: Date.now(),
    answeredAtMs: null,
    accepted: accepts(behavior) && honored?.kind !== 'same',
    isRepeated: accepts(behavior) && honored?.kind === 'same',
    behavior: behavior.kind,
    secrets: namesIn(body + headers, canaries),
  });
  await respond(behavior, response, honored?.id ?? id);
  const entry = entries[position];
  if (entry && response.writableFinished) entries[position] = { ...entry, answeredAtMs: Date.now() };
}

async function respond(behavior: Behavior, response: ServerResponse, id: string): Promise<void> {
  switch (behavior.kind) {
    case 'accept':
      await delay(ANSWER_MS);
      return accept(response, id);
    case 'slow':
      await delay(behavior.ms);
      return accept(response, id);
    case 'reply':
      return reply(response, behavior.status, behavior.headers ?? {}, behavior.body ?? '');
    case 'hang':
      return;
    case 'header-drip':
      response.socket?.write('HTTP/1.1 202 Accepted\r\n');
      return drip(response, 'x-drip: 1\r\n');
    case 'body-drip':
      response.writeHead(202, { 'x-message-id': id, 'content-length': '100000' });
      response.flushHeaders();
      return drip(response, ' ');
    case 'reset-before':
    case 'reset-after':
      response.socket?.resetAndDestroy();
  }
}

const accept = (response: ServerResponse, id: string): Promise<void> =>
  reply(response, 202, { 'x-message-id': id }, JSON.stringify({ id }));

function reply(
  response: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<void> {
  return new Promise((resolve) => {
    response.once('close', resolve);
    response.writeHead(status, headers).end(body);
  });
}

async function drip(response: ServerResponse, text: string): Promise<void> {
  while (response.socket && !response.socket.destroyed) {
    response.socket.write(text);
    await delay(DRIP_MS);
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts).toString('utf8');
}

// A hostile tenant's load in a thread of its own, until it is told to stop. Says how often it was answered, by status.
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { clearInterval, setInterval, setTimeout } from 'node:timers';
import { parentPort, workerData } from 'node:worker_threads';

const { kind, port, role, nobody } = workerData;
const agent = new Agent({ keepAlive: true });
const responses = {};
let isOver = false;
const name = () => `a${randomBytes(6).toString('hex')}`;
const fields = (count, text) => Array.from({ length: count }, () => `${name()}: ${text}`).join('\n');

const LOADS = {
  'readers that do not read': () => Array.from({ length: 10 }, unread),
  'documents of 999 aliases, anonymous': () =>
    loops(2, nobody, '/query', () => `{ ${fields(999, 'secret { id }')} }`),
  'documents of 399 aliases, anonymous': () =>
    loops(2, nobody, '/query', () => `{ ${fields(399, 'secret { id }')} }`),
  'documents of 999 aliases, a role': () =>
    loops(2, role, '/query', () => `{ ${fields(999, 'secret { id }')} }`),
  'documents of 999 aliases at /roles_pbac': () =>
    loops(2, role, '/roles_pbac', () => `{ ${fields(999, 'role(limit: 1) { roleid }')} }`),
  'clients that make roles': () =>
    loops(
      8,
      nobody,
      '/roles_pbac',
      () => `mutation { ${fields(10, `create_role(input: {login: "${name()}"}) { roleid }`)} }`,
    ),
  'clients that read': () => loops(32, nobody, '/query', () => '{ note(limit: 1) { id } }'),
  'queries of 15 s': () => loops(20, role, '/query', () => '{ slow { id } }'),
};

parentPort.once('message', () => {
  isOver = true;
  parentPort.postMessage(responses);
  setTimeout(() => process.exit(), 50);
});
LOADS[kind]();

function loops(count, token, path, query) {
  for (let i = 0; i < count; i++) void loop(token, path, query);
}

async function loop(token, path, query) {
  while (!isOver) {
    const status = await post(token, path, query());
    responses[status] = (responses[status] ?? 0) + 1;
  }
}

function post(token, path, query) {
  return new Promise((resolve) => {
    const body = JSON.stringify({ query });
    const headers = {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    request({ port, path, method: 'POST', agent, headers }, (response) => {
      response.resume().once('close', () => resolve(response.statusCode));
    })
      .once('error', () => resolve('error'))
      .end(body);
  });
}

/** Asks for 13 MB and reads nothing, again and again. */
function unread() {
  if (isOver) return;
  const body = JSON.stringify({ query: '{ large { body } }' });
  const socket = connect(port, '127.0.0.1').pause();
  socket.write(
    `POST /query HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${role}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  // A connection that was ended tells itself by a write.
  const probe = setInterval(() => socket.write('\r\n'), 1_000);
  socket.once('error', () => {
    clearInterval(probe);
    socket.destroy();
    responses.ended = (responses.ended ?? 0) + 1;
    unread();
  });
}

// A carrier that accepts everything and counts, as cheaply as it can, because it shares the machine with what is
// measured: it reads just enough of HTTP to find where a request ends. Prints its port.
import { createServer, type AddressInfo, type Socket } from 'node:net';
import type { CarrierCounts } from './carrier.js';
import { nowMs } from './numbers.js';
import { TIMED } from './timedSubject.js';

const HEAD_END = '\r\n\r\n';
const SUBJECT = Buffer.from(`"subject":"${TIMED}`);

let counts = nothing();

const server = createServer((socket) => {
  let pending: Buffer = Buffer.alloc(0);
  socket.on('error', () => socket.destroy());
  socket.on('data', (part) => {
    pending = pending.length === 0 ? part : Buffer.concat([pending, part]);
    for (let end = requestEnd(pending); end > 0; end = requestEnd(pending)) {
      respond(socket, pending.subarray(0, end));
      pending = pending.subarray(end);
    }
  });
});

/** Where the first request in the buffer ends; 0 when there is no whole one. */
function requestEnd(buffer: Buffer): number {
  const head = buffer.indexOf(HEAD_END);
  if (head < 0) return 0;
  const length = /\r\ncontent-length: *(\d+)/i.exec(buffer.toString('latin1', 0, head))?.[1] ?? '0';
  const end = head + HEAD_END.length + Number(length);
  return buffer.length < end ? 0 : end;
}

function respond(socket: Socket, request: Buffer): void {
  if (request.toString('latin1', 0, 4) === 'GET ') {
    const isReset = request.toString('latin1', 4, 10) === '/reset';
    const body = JSON.stringify(isReset ? counts : { ...counts, receipts: [] });
    if (isReset) counts = nothing();
    socket.write(
      `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}${HEAD_END}${body}`,
    );
    return;
  }
  count(request);
  socket.write(`HTTP/1.1 202 Accepted\r\nx-message-id: m${counts.accepted}\r\ncontent-length: 0${HEAD_END}`);
}

function count(request: Buffer): void {
  const now = nowMs();
  counts.accepted += 1;
  counts.firstMs ??= now;
  counts.lastMs = now;
  const second = Math.floor((now - counts.firstMs) / 1000);
  while (counts.perSecond.length <= second) counts.perSecond.push(0);
  counts.perSecond[second] = (counts.perSecond[second] ?? 0) + 1;
  const at = request.indexOf(SUBJECT);
  if (at < 0) return;
  const start = at + SUBJECT.length - TIMED.length;
  counts.receipts.push({
    subject: request.toString('latin1', start, request.indexOf('"', start)),
    atMs: now,
  });
}

function nothing(): CarrierCounts {
  return { accepted: 0, firstMs: null, lastMs: null, perSecond: [], receipts: [] };
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

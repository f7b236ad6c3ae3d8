// An email provider that accepts everything and counts. GET answers how many, and how old mails were whose subject
// says when their change was made (`at <milliseconds>`). Prints its port.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let accepted = 0;
let ages: number[] = [];

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    if (request.method === 'GET') {
      response.end(JSON.stringify({ accepted, ages }));
      ages = [];
      return;
    }
    const made = /"subject":"at (\d+)/.exec(Buffer.concat(parts).toString('latin1'))?.[1];
    if (made !== undefined) ages.push(Date.now() - Number(made));
    accepted += 1;
    response.writeHead(202, { 'x-message-id': `m${accepted}` }).end();
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});

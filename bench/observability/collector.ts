// Takes spans as a collector of OpenTelemetry does, and keeps none.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

const server = createServer((request, response) => {
  request.resume().on('end', () => response.end());
}).listen(0, '127.0.0.1', () => {
  console.log((server.address() as AddressInfo).port);
});
process.on('SIGTERM', () => process.exit(0));

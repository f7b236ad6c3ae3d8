import { once } from 'node:events';
import { createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { sendPieces } from '../../../src/api/http/sendPieces.js';

const MIB = 1_048_576;
const LIMITS = { responseStallMs: 5_000, responseTimeoutMs: 1_000, maxResponseBytes: 16 * MIB };

async function* pieces(count: number): AsyncGenerator<string, void> {
  for (let sent = 0; sent < count; sent += 1) yield await Promise.resolve('x'.repeat(MIB));
}

/** @returns whether the client got all */
async function send(count: number, read: (response: IncomingMessage) => Promise<void>): Promise<boolean> {
  const server = createServer((_req, res) => void sendPieces(res, {}, pieces(count), LIMITS));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const sent = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.on('error', () => undefined);
    await read(response);
    return response.complete;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe('attack: a client that reads a list which is exported, but slowly', () => {
  it('has as long for each 16 MiB as for a response of that size, and not ten seconds for each 64 KiB', async () => {
    const startedAtMs = performance.now();
    const isWhole = await send(64, async (response) => {
      for await (const chunk of response) if ((chunk as Buffer).length > 0) await delay(100);
    }).catch(() => false);
    expect(isWhole).to.equal(false);
    expect(performance.now() - startedAtMs).to.be.below(30_000);
  });

  it('may take longer than one response in all, as long as it reads as fast', async () => {
    const isWhole = await send(64, async (response) => {
      let bytes = 0;
      for await (const chunk of response) {
        bytes += (chunk as Buffer).length;
        if (bytes < 2 * MIB) continue;
        bytes = 0;
        await delay(50);
      }
    });
    expect(isWhole).to.equal(true);
  });
});

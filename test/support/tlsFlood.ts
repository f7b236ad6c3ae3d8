import { createCipheriv, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { createSecureContext, TLSSocket } from 'node:tls';
import { SNS_CERTIFICATE, SNS_KEY } from './snsKey.js';

const APPLICATION_DATA = 23;
/** Header, inner plaintext and tag. */
const RECORD_BYTES = 27;
const HEADER = Buffer.from([APPLICATION_DATA, 3, 3, 0, RECORD_BYTES - 5]);
/** A KeyUpdate that asks for none, of the type handshake. */
const KEY_UPDATE = Buffer.from([24, 0, 0, 1, 0, 22]);

/** A server of TLS 1.3 that changes its keys so many times, once the client is connected, and sends nothing else. */
export async function startKeyUpdates(count: number): Promise<{ readonly port: number; close(): void }> {
  const secureContext = createSecureContext({
    key: SNS_KEY,
    cert: SNS_CERTIFICATE,
    minVersion: 'TLSv1.3',
    ciphers: 'TLS_AES_128_GCM_SHA256',
  });
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    let isConnected = false;
    let records = 0;
    let secret: Buffer | undefined;
    const carried = new Duplex({
      read: () => undefined,
      write(bytes: Buffer, _encoding, done) {
        if (isConnected) records += countRecords(bytes);
        socket.write(bytes, () => done());
      },
    });
    socket.on('data', (bytes: Buffer) => {
      // The client's second flight ends the handshake.
      isConnected = carried.readable && secret !== undefined;
      carried.push(bytes);
    });
    socket.on('close', () => carried.destroy());
    new TLSSocket(carried, { isServer: true, secureContext })
      .on('error', () => undefined)
      .on('keylog', (line: Buffer) => {
        const [, hex] = /^SERVER_TRAFFIC_SECRET_0 \w+ (\w+)/.exec(line.toString()) ?? [];
        if (hex !== undefined) secret = Buffer.from(hex, 'hex');
      })
      .on('secure', () => {
        // After the session tickets.
        setTimeout(() => socket.write(keyUpdates(secret ?? Buffer.alloc(32), records, count)), 50);
      });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

function countRecords(bytes: Buffer): number {
  let count = 0;
  for (let at = 0; at + 5 <= bytes.length; at += 5 + bytes.readUInt16BE(at + 3)) {
    if (bytes[at] === APPLICATION_DATA) count += 1;
  }
  return count;
}

/** RFC 8446, 7.2 and 5.3. @param sent records under the first secret */
function keyUpdates(first: Buffer, sent: number, count: number): Buffer {
  const flood = Buffer.alloc(RECORD_BYTES * count);
  let [secret, sequence] = [first, sent];
  for (let at = 0; at < flood.length; at += RECORD_BYTES) {
    const nonce = Buffer.from(expand(secret, 'iv', 12));
    nonce.writeUInt32BE((nonce.readUInt32BE(8) ^ sequence) >>> 0, 8);
    const cipher = createCipheriv('aes-128-gcm', expand(secret, 'key', 16), nonce).setAAD(HEADER);
    const body = Buffer.concat([cipher.update(KEY_UPDATE), cipher.final(), cipher.getAuthTag()]);
    Buffer.concat([HEADER, body]).copy(flood, at);
    [secret, sequence] = [expand(secret, 'traffic upd', 32), 0];
  }
  return flood;
}

function expand(secret: Buffer, label: string, length: number): Buffer {
  const name = Buffer.from(`tls13 ${label}`);
  const info = Buffer.concat([Buffer.from([0, length, name.length]), name, Buffer.from([0, 1])]);
  return createHmac('sha256', secret).update(info).digest().subarray(0, length);
}

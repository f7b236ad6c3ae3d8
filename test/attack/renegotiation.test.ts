import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import tls, { type TLSSocket } from 'node:tls';
import { expect } from 'chai';
import type { SmtpAccount } from '../../src/email/carriers/smtp/account.js';
import { smtp } from '../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../support/openCarrier.js';
import { SNS_CERTIFICATE, SNS_KEY } from '../support/snsKey.js';

describe("attack: a tenant's server that repeats the TLS handshake", () => {
  const carrier = openCarrier(smtp);
  after(() => carrier.close());

  it('gets one per connection', async () => {
    let handshakes = 0;
    const again = (socket: TLSSocket): void => {
      socket.renegotiate({ rejectUnauthorized: false, requestCert: false }, (error) => {
        if (error) return;
        handshakes += 1;
        setImmediate(again, socket);
      });
    };
    const server = tls.createServer(
      { key: SNS_KEY, cert: SNS_CERTIFICATE, maxVersion: 'TLSv1.2' },
      (socket) => {
        socket.on('error', () => undefined);
        again(socket);
      },
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const account: SmtpAccount = {
      kind: 'smtp',
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      security: 'tls',
      verifyCertificate: false,
      maxConnections: 1,
    };
    expect((await carrier.verify(account, 1_000)).ok).to.equal(false);
    server.close();
    expect(handshakes).to.equal(0);
  });
});

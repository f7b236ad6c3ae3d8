import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { expect } from 'chai';
import { createProviderClient } from '../../../src/api/oidc/providerClient.js';
import { parseAccounts } from '../../../src/control/email/accountInput.js';
import type { SmtpAccount } from '../../../src/email/carriers/smtp/account.js';
import { smtp } from '../../../src/email/carriers/smtp/smtp.js';
import { openCarrier } from '../../support/openCarrier.js';
import { SNS_CERTIFICATE, SNS_KEY } from '../../support/snsKey.js';

describe('attack: keys of others that are slow to compute with', () => {
  describe('of DKIM, which sign in a worker', () => {
    const read = (privateKey: string) => () =>
      parseAccounts(
        {
          kind: 'smtp',
          host: 'mail.example.com',
          dkim: { domain: 'example.com', selector: 's', private_key: privateKey },
        },
        false,
      );
    const rsaKey = (modulusLength: number, publicExponent = 65_537): string =>
      generateKeyPairSync('rsa', { modulusLength, publicExponent })
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString();

    it('are accepted in the lengths that verifiers accept', () => {
      for (const bits of [1024, 2048, 4096]) expect(read(rsaKey(bits)), String(bits)).to.not.throw();
    });

    it('are refused when they are longer, which takes no primes: one of 32,768 bits took 20 s for each email', () => {
      for (const bits of [4_608, 16_384, 32_768])
        expect(read(unrelatedNumbers(bits)), String(bits)).to.throw(/1024 to 4096 bits/);
    });

    it('are refused when they sign nothing that verifies', () => {
      expect(read(unrelatedNumbers(2_048))).to.throw(/private_key/);
    });
  });

  describe('of a TLS server, which may choose a field of 10,000 bits', () => {
    let server: Server;
    let port: number;
    before(async () => {
      server = createServer({
        key: SNS_KEY,
        cert: SNS_CERTIFICATE,
        dhparam: 'auto',
        ciphers: 'DHE-RSA-AES128-GCM-SHA256',
        maxVersion: 'TLSv1.2',
      });
      // The handshakes that fail.
      server.on('tlsClientError', () => undefined);
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      ({ port } = server.address() as AddressInfo);
    });
    after(async () => {
      server.close();
      await once(server, 'close');
    });

    it('are not agreed to with an SMTP server', async () => {
      const account: SmtpAccount = {
        kind: 'smtp',
        host: '127.0.0.1',
        port,
        security: 'tls',
        verifyCertificate: false,
        maxConnections: 1,
      };
      const carrier = openCarrier(smtp);
      const verdict = await carrier.verify(account, 60_000);
      carrier.close();
      expect(verdict).to.have.property('message').that.includes('HANDSHAKE_FAILURE');
    });

    it('are not agreed to with an identity provider', async () => {
      const call = createProviderClient({ timeoutMs: 60_000, allowPrivateNetwork: true });
      const failure: unknown = await call(new URL(`https://127.0.0.1:${port}/`), {
        method: 'GET',
        headers: {},
      }).catch((error: unknown) => error);
      expect(failure).to.have.property('message').that.includes('HANDSHAKE_FAILURE');
    });
  });
});

/** A private key of RSA, as far as its length and form tell. */
function unrelatedNumbers(bits: number): string {
  const odd = (length: number): bigint =>
    BigInt(`0x${randomBytes(length / 8).toString('hex')}`) | 1n | (1n << BigInt(length - 1));
  const [p, q] = [odd(bits / 2), odd(bits / 2)];
  const numbers = [0n, p * q, 65_537n, odd(bits), p, q, odd(bits / 2), odd(bits / 2), odd(bits / 2)];
  const der = withLength(0x30, Buffer.concat(numbers.map(integer)));
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return ['-----BEGIN RSA PRIVATE KEY-----', ...lines, '-----END RSA PRIVATE KEY-----'].join('\n');
}

function integer(value: bigint): Buffer {
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex');
  return withLength(0x02, (bytes[0] ?? 0) < 0x80 ? bytes : Buffer.concat([Buffer.from([0]), bytes]));
}

function withLength(tag: number, content: Buffer): Buffer {
  const long = Buffer.alloc(4);
  long.writeUInt32BE(content.length);
  return Buffer.concat([Buffer.from([tag, 0x84]), long, content]);
}

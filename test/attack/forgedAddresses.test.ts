import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { clientAddress } from '../../src/api/http/clientAddress.js';
import { loadConfig } from '../../src/process/loadConfig.js';
import { WebFixture } from '../api/webFixture.js';

const request = (peer: string | undefined, forwarded?: string): IncomingMessage =>
  ({
    socket: { remoteAddress: peer },
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
  }) as unknown as IncomingMessage;

describe('attack: a client forges its address, to escape limits or use up those of others', () => {
  it('and is believed only if it is a stated proxy', () => {
    for (const [setting, peer, forwarded, expected] of [
      ['', '127.0.0.1', '198.51.100.7', '127.0.0.1'],
      ['0', '127.0.0.1', '198.51.100.7', '127.0.0.1'],
      ['1', '10.0.0.5', '198.51.100.7', '198.51.100.7'],
      ['1', '::ffff:10.0.0.5', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
      ['1', '203.0.113.9', '198.51.100.7', '203.0.113.9'],
      ['2', '203.0.113.9', '198.51.100.7, 10.0.0.1', '203.0.113.9'],
      ['2', '127.0.0.1', '203.0.113.9, 198.51.100.7, 192.0.2.1', '198.51.100.7'],
      ['1', '10.0.0.5', undefined, '10.0.0.5'],
      ['1', '10.0.0.5', ' , ', '10.0.0.5'],
      ['203.0.113.0/24', '203.0.113.9', '198.51.100.7', '198.51.100.7'],
      ['203.0.113.0/24', '203.0.113.9', '198.51.100.7, 203.0.113.1', '198.51.100.7'],
      ['203.0.113.0/24', '203.0.114.9', '198.51.100.7', '203.0.114.9'],
      ['203.0.113.9', '10.0.0.5', '198.51.100.7', '10.0.0.5'],
      ['loopback, 2001:db8::1', '2001:db8::1', '198.51.100.7', '198.51.100.7'],
      ['loopback', '::1', '198.51.100.7', '198.51.100.7'],
      ['1', '10.0.0.5', '198.51.100.7:4711', '198.51.100.7'],
      ['1', '10.0.0.5', '[2001:db8::1]:4711', '2001:db8::'],
      ['uniquelocal', '10.0.0.5', '198.51.100.7, 10.0.0.6:443', '198.51.100.7'],
      ['uniquelocal', '203.0.113.9', '198.51.100.7', '203.0.113.9'],
    ] as const) {
      const { trustProxy } = loadConfig({ TRUST_PROXY: setting });
      expect(clientAddress(request(peer, forwarded), trustProxy), `${setting} ${peer}`).to.equal(expected);
    }
  });

  it('and no text but an address is one, where more proxies are believed than there are', () => {
    const texts = [
      'unknown',
      '_hidden',
      'call +1 555 0100 now',
      '<b>x</b>',
      'https://evil.example/',
      'localhost',
      '198.51.100',
      '198.51.100.256',
      '0198.51.100.7',
      '3325256711',
      '198.51.100.7/24',
      '2001:db8::g',
      '[2001:db8::1',
      '%eth0',
      'x'.repeat(10_000),
    ];
    const proxies = [loadConfig({ TRUST_PROXY: '3' }), loadConfig({ TRUST_PROXY: 'uniquelocal' })];
    for (const { trustProxy } of proxies) {
      for (const text of texts) {
        for (const forwarded of [text, `198.51.100.7, ${text}`, `${text}:80`])
          expect(clientAddress(request('10.0.0.5', forwarded), trustProxy), forwarded).to.equal('10.0.0.5');
        const after = clientAddress(request('10.0.0.5', `${text}, 10.0.0.6`), trustProxy);
        expect(after, text).to.equal('10.0.0.6');
      }
      // Node.js takes more for zones than others do.
      for (const zone of ['eth0', 'a-b', 'A.b', 'a:b', 'call.555-0100.now', 'z'.repeat(100)]) {
        const address = clientAddress(request('10.0.0.5', `2001:db8::1%${zone}`), trustProxy);
        expect(address, zone).to.equal('2001:db8::');
      }
      expect(clientAddress(request(undefined, '198.51.100.7'), trustProxy), 'a client that is gone').to.equal(
        '',
      );
    }
  });

  it('and no more of them are looked at than there may be proxies', () => {
    let looked = 0;
    const all = { count: 'some', trusts: () => (looked += 1) > 0 } as const;
    clientAddress(request('10.0.0.5', Array<string>(1_800).fill('10.0.0.1').join(',')), all);
    expect(looked).to.equal(11);
  });

  it('and no setting believes everyone', () => {
    for (const setting of ['0.0.0.0/0', '::/0', 'loopback, 0.0.0.0/0']) {
      expect(() => loadConfig({ TRUST_PROXY: setting }), setting).to.throw(
        'TRUST_PROXY trusts every address',
      );
    }
    for (const setting of [
      'true',
      'all',
      '11',
      '-1',
      '10.0.0.0/33',
      'proxy.example',
      '1,2',
      '__proto__',
      ',',
    ]) {
      expect(() => loadConfig({ TRUST_PROXY: setting }), setting).to.throw('TRUST_PROXY is not a number');
    }
  });

  it('at sign-in, from somewhere else than the proxy', async () => {
    const fixture = await WebFixture.start({ env: { SIGN_INS_PER_ADDRESS: '2', TRUST_PROXY: '10.9.9.9' } });
    try {
      const { tenantid } = await fixture.createTenant('shop');
      const statuses: number[] = [];
      for (let n = 0; n < 3; n++) {
        const headers = { 'x-forwarded-for': `198.51.100.${n}` };
        statuses.push((await fixture.postJson('/anonauth', { tenantid }, headers)).status);
      }
      expect(statuses).to.deep.equal([403, 403, 429]);
    } finally {
      await fixture.stop();
    }
  });
});

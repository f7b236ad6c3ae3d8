import { request } from 'node:http';
import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

describe('attack: the mailbox of an embedded installation behind a proxy on the same machine', () => {
  let fixture: WebFixture;
  before(async () => {
    fixture = await WebFixture.start({ config: { embedded: true } });
  });
  after(() => fixture.stop());

  function statusWith(headers: Readonly<Record<string, string>>): Promise<number | undefined> {
    return new Promise((resolve, reject) => {
      request(`${fixture.url}/mailbox`, { headers }, (res) => {
        res.resume();
        resolve(res.statusCode);
      })
        .on('error', reject)
        .end();
    });
  }

  it('is open to this machine', async () => {
    const { port } = new URL(fixture.url);
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, 'LOCALHOST', '[::1]']) {
      expect(await statusWith({ host }), host).to.equal(200);
    }
  });

  for (const [name, value] of [
    ['X-Forwarded-For', '127.0.0.1'],
    ['X-Forwarded-Host', 'localhost'],
    ['X-Forwarded-Proto', 'https'],
    ['X-Forwarded', 'for=127.0.0.1'],
    ['Forwarded', 'for=192.0.2.1'],
    ['Via', '1.1 tunnel'],
    ['X-Real-IP', '192.0.2.1'],
    ['X-Original-Host', 'demo.example'],
    ['CF-Connecting-IP', '192.0.2.1'],
  ] as const) {
    it(`is closed to a request with ${name}`, async () => {
      expect(await statusWith({ host: 'localhost', [name]: value })).to.equal(401);
    });
  }

  it('is closed under host names that merely look local', async () => {
    for (const host of ['evil.example', 'localhost.evil.example', '127.0.0.1.nip.io', 'localhost@evil']) {
      expect(await statusWith({ host }), host).to.equal(401);
    }
  });
});

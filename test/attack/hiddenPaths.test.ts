import { request } from 'node:http';
import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

describe('attack: paths that the proxies of deploy/proxy hide', () => {
  let fixture: WebFixture;
  before(async () => {
    fixture = await WebFixture.start();
  });
  after(() => fixture.stop());

  it('are not served by any other spelling, which proxies would pass on', async () => {
    for (const path of ['/metrics', '/livez', '/readyz']) {
      expect((await fixture.fetch(path)).status, path).to.equal(200);
      for (const other of [
        path.toUpperCase(),
        `${path}/`,
        `/${path}`,
        `${path}//`,
        `/.${path}x`,
        `${path}%20`,
        `${path};x`,
      ])
        expect((await fixture.fetch(other)).status, other).to.equal(404);
      for (const target of [`http://example.com${path}`, `${path}#x`])
        expect(await statusOf(target), target).to.equal(404);
    }
  });

  /** Of a request with this target, which `fetch` would change. */
  const statusOf = (target: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      request({ host: '127.0.0.1', port: fixture.web.port, path: target }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });
});

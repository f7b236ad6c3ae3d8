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
    }
  });
});

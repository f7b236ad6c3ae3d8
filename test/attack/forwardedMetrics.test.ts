import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

describe('attack: a client reads the metrics through a proxy that hides nothing', () => {
  let fixture: WebFixture;
  before(async () => (fixture = await WebFixture.start({ env: { TRUST_PROXY: '1' } })));
  after(() => fixture.stop());

  for (const header of ['X-Forwarded-For', 'Forwarded', 'Via', 'X-Real-IP']) {
    it(`and gets 404, as the request has ${header}`, async () => {
      const { status } = await fixture.fetch('/metrics', { headers: { [header]: '198.51.100.7' } });
      expect(status).to.equal(404);
    });
  }

  it('while Prometheus, which connects directly, gets them', async () => {
    const response = await fixture.fetch('/metrics');
    expect(response.status).to.equal(200);
    expect(await response.text()).to.contain('rowpost_');
  });
});

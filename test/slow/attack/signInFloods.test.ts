import { expect } from 'chai';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../../api/webFixture.js';

const ATTEMPTS = 60;

/** Each takes a tenth of a second in one of four threads, which served first come, first served. */
describe('attack: a burst of attempts to sign in', function () {
  this.timeout(120_000);
  let fixture: WebFixture;
  let flooded: number;
  let other: number;
  before(async () => {
    fixture = await WebFixture.start({ env: { TRUST_PROXY: '1', PG_POOL_TIMEOUT_MS: '60000' } });
    ({ tenantid: flooded } = await fixture.createTenant('shop'));
    ({ tenantid: other } = await fixture.createTenant('other'));
  });
  after(() => fixture.stop());

  const attempt = async (
    tenantid: number,
    login: string,
    password: string,
    from: string,
  ): Promise<number> => {
    const headers = { 'x-forwarded-for': from };
    return (await fixture.postJson('/auth', { tenantid, login, password }, headers)).status;
  };

  /** Sends the burst, and a sign-in once the first attempt was refused. @returns how many had a response by then */
  async function refusedBefore(
    burst: (index: number) => { readonly tenantid: number; readonly from: string },
    { tenantid }: { readonly tenantid: number },
  ): Promise<number> {
    let refused = 0;
    const flood = Array.from({ length: ATTEMPTS }, async (_, index) => {
      const { tenantid: target, from } = burst(index);
      expect(await attempt(target, `nobody ${index}`, 'guessed', from)).to.equal(401);
      refused += 1;
    });
    await Promise.race(flood);
    expect(await attempt(tenantid, ROOT_LOGIN, ROOT_PASSWORD, '198.51.100.7')).to.equal(200);
    const before = refused;
    await Promise.all(flood);
    return before;
  }

  it('from many addresses at one tenant, which people of others do not wait for', async () => {
    const burst = (index: number) => ({ tenantid: flooded, from: `2001:db8:0:${index.toString(16)}::1` });
    expect(await refusedBefore(burst, { tenantid: other })).to.be.lessThan(ATTEMPTS / 2);
  });

  it('from one address, which people of the same tenant do not wait for', async () => {
    const burst = () => ({ tenantid: flooded, from: '192.0.2.1' });
    expect(await refusedBefore(burst, { tenantid: flooded })).to.be.lessThan(ATTEMPTS / 2);
  });

  it('from one address at many tenants, whether there are any', async () => {
    const burst = (index: number) => ({ tenantid: 1_000 + index, from: '192.0.2.1' });
    expect(await refusedBefore(burst, { tenantid: other })).to.be.lessThan(ATTEMPTS / 2);
  });
});

import { expect } from 'chai';
import { createFleet, type Fleet } from '../../processes/fleet.js';

/** The documented time until a session has ended everywhere. */
const STATED_MS = 1_000;

interface Tokens {
  readonly access_token: string;
  readonly refresh_token: string;
}

describe('a session that is ended', function () {
  this.timeout(120_000);
  let fleet: Fleet;
  before(async () => (fleet = await createFleet({ postgres: 15, redisUrl: undefined })));
  after(() => fleet.stop());

  async function signIn(baseUrl: string): Promise<Tokens> {
    const body = JSON.stringify({ tenantid: fleet.tenantid, login: 'root', password: 'root-password' });
    const headers = { 'content-type': 'application/json' };
    return (await (await fetch(`${baseUrl}/auth`, { method: 'POST', headers, body })).json()) as Tokens;
  }

  const status = async (baseUrl: string, path: string, token: string): Promise<number> =>
    (await fetch(baseUrl + path, { headers: { authorization: `Bearer ${token}` } })).status;

  it('is over in two web processes within a second, and after they were killed and started again', async () => {
    const processes = [await fleet.start('web'), await fleet.start('web')];
    const urls = [fleet.web().baseUrl, fleet.web().baseUrl];
    expect(new Set(urls).size).to.equal(2);
    const [ended, stays] = [await signIn(urls[0]!), await signIn(urls[1]!)];
    const expectEverywhere = async (web: readonly string[]): Promise<void> => {
      for (const baseUrl of web) {
        expect(await status(baseUrl, '/query?query={__typename}', ended.access_token)).to.equal(401);
        expect(await status(baseUrl, '/auth', ended.refresh_token)).to.equal(401);
        expect(await status(baseUrl, '/query?query={__typename}', stays.access_token)).to.equal(200);
        expect(await status(baseUrl, '/auth', stays.refresh_token)).to.equal(200);
      }
    };
    for (const baseUrl of urls)
      expect(await status(baseUrl, '/query?query={__typename}', ended.access_token)).to.equal(200);
    const signedOut = await fetch(`${urls[0]!}/oidc/logout`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ended.access_token}` },
    });
    expect(await signedOut.json()).to.deep.equal({ ended: true, logout_url: null });
    await new Promise((resolve) => setTimeout(resolve, STATED_MS));
    await expectEverywhere(urls);
    await Promise.all(processes.map((part) => part.kill('SIGKILL')));
    await fleet.start('web');
    await expectEverywhere([fleet.web().baseUrl]);
  });
});

import { createHook } from 'node:async_hooks';
import { expect } from 'chai';
import { MisbehavingProvider } from '../api/oidc/support/misbehavingProvider.js';
import { OidcFixture } from '../api/oidc/support/oidcFixture.js';
import { codeOf, type GraphqlResult } from '../api/webFixture.js';

/** @returns the largest number of key pairs that were made at the same time since the call, and how many were made */
function watchKeyPairs(): () => { readonly atOnce: number; readonly made: number } {
  const running = new Set<number>();
  let [atOnce, made] = [0, 0];
  const hook = createHook({
    init(id, type) {
      if (type !== 'KEYPAIRGENREQUEST') return;
      running.add(id);
      made += 1;
      atOnce = Math.max(atOnce, running.size);
    },
    before: (id) => void running.delete(id),
  }).enable();
  return () => {
    hook.disable();
    return { atOnce, made };
  };
}

describe('attack: roots of several tenants have keys made, each half a second of CPU', () => {
  const TENANTS = 4;
  let fixture: OidcFixture;
  let provider: MisbehavingProvider;
  let providerid: number;
  const roots: string[] = [];
  before(async () => {
    [fixture, provider] = await Promise.all([OidcFixture.start(), MisbehavingProvider.start()]);
    providerid = await fixture.createProvider({ ...provider.endpoints, issuer: provider.issuer });
    for (let n = 0; n < TENANTS; n++) {
      const { tenantid } = await fixture.web.createTenant(`tenant ${n}`);
      roots.push((await fixture.web.signIn(tenantid)).access_token);
    }
  });
  after(() => Promise.all([fixture.stop(), provider.stop()]));

  const create = (root: string, count: number): Promise<GraphqlResult> => {
    const fields = Array.from(
      { length: count },
      (_, n) =>
        `c${n}: create_oidc_config(input: {providerid: ${providerid}, client_id: "c", with_key: true}) { confid }`,
    );
    return fixture.web.control(root, `mutation { ${fields.join(' ')} }`);
  };

  it('at the same time: one is made after another, and the other threads are free', async () => {
    const seen = watchKeyPairs();
    const results = await Promise.all(roots.map((root) => create(root, 2)));
    for (const { errors } of results) expect(errors).to.equal(undefined);
    expect(seen()).to.deep.equal({ atOnce: 1, made: 2 * TENANTS });
  });

  it('by the dozen in one request, which holds a connection', async () => {
    const seen = watchKeyPairs();
    expect(codeOf(await create(roots[0] ?? '', 3))).to.equal('DOCUMENT_TOO_COMPLEX');
    const confid = await fixture.createConfig(providerid);
    const keys = Array.from(
      { length: 3 },
      (_, n) => `k${n}: create_oidc_key(input: {confid: ${confid}}) { kid }`,
    );
    expect(codeOf(await fixture.web.control(fixture.root, `mutation { ${keys.join(' ')} }`))).to.equal(
      'DOCUMENT_TOO_COMPLEX',
    );
    expect(seen().made).to.equal(0);
  });
});

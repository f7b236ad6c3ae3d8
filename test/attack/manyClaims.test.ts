import { expect } from 'chai';
import { shownClaims } from '../../src/api/console/trialSignIn.js';
import { completeClaims } from '../../src/control/oidc/claims.js';
import { startMisbehaving, type MisbehavingFixture } from '../api/oidc/support/misbehavingFixture.js';
import { codeOf, textAt, type GraphqlResult } from '../api/webFixture.js';
import { cpuTimer } from '../support/cpuTime.js';

/** As many as fit into one template. */
const NAMED = 800;
const MAX_CHARACTERS = 262_144;

/** Both are looked up in the thread that serves all tenants. */
describe('attack: templates that name thousands of claims, and a provider that sends tens of thousands', function () {
  this.timeout(60_000);
  let started: MisbehavingFixture;
  let confid: number;
  before(async () => {
    started = await startMisbehaving();
    const { fixture, provider } = started;
    const { endpoints, issuer } = provider;
    confid = await fixture.createConfig(await fixture.createProvider({ ...endpoints, issuer }));
    const { roleid: parentid } = await fixture.web.createMember(fixture.root, 'parent', ['login']);
    const name = `${namesFrom(0)}somebody`;
    const login = `${namesFrom(NAMED)}a login`;
    const made = await control(
      '($input: oidc_provisioningInput) { create_oidc_provisioning(input: $input) { confid } }',
      {
        input: { confid, parentid, name, login },
      },
    );
    expect(textAt(made, 'data.create_oidc_provisioning.confid')).to.equal(String(confid));
  });
  after(() => started.stop());

  const claimName = (n: number): string => `_${n.toString(36)}`;
  const namesFrom = (first: number): string =>
    `{# ${Array.from({ length: NAMED }, (_, n) => `claims.${claimName(first + n)}`).join(' ')} #}`;
  const claimsOf = (count: number): Record<string, number> =>
    Object.fromEntries(Array.from({ length: count }, (_, n) => [claimName(n), 1]));
  const control = (mutation: string, variables: object): Promise<GraphqlResult> =>
    started.fixture.web.control(started.fixture.root, `mutation ${mutation}`, variables);
  const tryClaims = (claims: string): Promise<GraphqlResult> => {
    const { web, root } = started.fixture;
    const field = `try_oidc_claims(confid: ${confid}, claims: $claims) { refusal { code } role { login } }`;
    return web.control(root, `query ($claims: String!) { Utility { ${field} } }`, { claims });
  };

  it('at a sign-in', async () => {
    started.provider.misbehavior = { claims: { ...claimsOf(19_000), sub: 'a person' } };
    const elapsedMs = cpuTimer();
    const body = await started.signIn(confid);
    expect(body.access_token).to.be.a('string');
    expect(elapsedMs()).to.be.below(2_000);
  });

  it('at a trial', async () => {
    const claims = JSON.stringify({ ...claimsOf(27_000), sub: 'another' });
    expect(claims.length).to.be.within(0.9 * MAX_CHARACTERS, MAX_CHARACTERS);
    const elapsedMs = cpuTimer();
    const tried = await tryClaims(claims);
    expect(textAt(tried, 'data.Utility.try_oidc_claims.refusal.code')).to.equal('OIDC_NOT_ADMITTED');
    expect(elapsedMs()).to.be.below(2_000);
  });

  it('on the page of a trial', () => {
    const read = Array.from({ length: 2 * NAMED }, (_, n) => ({ path: `${claimName(n)}.x`, values: [] }));
    const elapsedMs = cpuTimer();
    const { own, left } = shownClaims(claimsOf(19_000), read);
    expect(elapsedMs()).to.be.below(200);
    expect(own.every((claim) => 'use' in claim && claim.use === 'used')).to.equal(true);
    expect(left).to.equal(18_900);
  });

  it('at a trial of more than a provider may send', async () => {
    const small = JSON.stringify({ sub: 'x' });
    expect(codeOf(await tryClaims(small.padEnd(MAX_CHARACTERS + 1)))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await tryClaims(small.padEnd(MAX_CHARACTERS)))).to.equal(undefined);
  });

  it('that it has elsewhere, and at UserInfo elsewhere again', () => {
    const names = Array.from({ length: 12_000 }, (_, n) => `claim.${n}`);
    const elsewhere = (some: readonly string[]): object => Object.fromEntries(some.map((name) => [name, '']));
    const claims = { sub: 'x', _claim_names: elsewhere(names) };
    const more = { sub: 'x', ...elsewhere(names), _claim_names: elsewhere(names.slice(6_000)) };
    const elapsedMs = cpuTimer();
    const complete = completeClaims(claims, more);
    expect(elapsedMs()).to.be.below(1_500);
    expect(Object.keys(complete['_claim_names'] as object)).to.have.length(6_000);
  });
});

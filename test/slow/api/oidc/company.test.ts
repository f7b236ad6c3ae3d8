import { expect } from 'chai';
import type { AuthBody, Json } from '../../../api/webFixture.js';
import { textAt } from '../../../api/webFixture.js';
import { HttpBrowser } from '../../../api/oidc/support/httpBrowser.js';
import { OidcFixture, type FailureBody } from '../../../api/oidc/support/oidcFixture.js';
import { generator, testSeed } from '../../../support/randomNumbers.js';
import { startCompanyProvider, type CompanyProvider, type Site } from './support/companyProvider.js';

/** In the first configuration; a fifth in each of the others, unless PEOPLE says how many everywhere. */
const PEOPLE = 200;
const AT_ONCE = 16;
/** Some of the groups are no class of the tenant, and the last class is not one of the role above. */
const GROUPS = 12;
const CLASSES = 6;

/** A configuration of the package, and what the tenant says of it. */
interface Case extends Omit<Site, 'client'> {
  readonly client?: Readonly<Record<string, string>>;
  readonly groupsClaim?: 'groups' | 'realm_access.roles' | 'https://example.com/groups';
  readonly comparisonField?: 'sub' | 'oid' | 'email';
  /** Found in the discovery document. */
  readonly withoutIssuer?: boolean;
  readonly rotatesKeys?: boolean;
  readonly formPost?: boolean;
  /** The client has a key, at an address that the provider knows. */
  readonly hasKey?: boolean;
}

const SPECIAL = 'a:b c%2F+&=?/"\\~!';

const CASES: readonly Case[] = [
  { name: 'client_secret_basic, RS256' },
  {
    name: 'client_secret_post, ES256, roles below realm_access',
    alg: 'ES256',
    client: { token_endpoint_auth_method: 'client_secret_post' },
    groupsClaim: 'realm_access.roles',
  },
  { name: 'PS256, groups at a URL', alg: 'PS256', groupsClaim: 'https://example.com/groups' },
  { name: 'EdDSA, pairwise sub', alg: 'EdDSA', client: { subject_type: 'pairwise' } },
  { name: 'ES384, oid', alg: 'ES384', comparisonField: 'oid' },
  { name: 'email', comparisonField: 'email' },
  {
    name: 'a secret and an id that need encoding',
    client: { client_id: 'row post:%+&', client_secret: SPECIAL },
  },
  {
    name: 'the same, posted',
    client: {
      client_id: 'row post:%+&',
      client_secret: SPECIAL,
      token_endpoint_auth_method: 'client_secret_post',
    },
  },
  { name: 'without an issuer', withoutIssuer: true },
  { name: 'keys that change while people sign in', alg: 'ES256', rotatesKeys: true },
  {
    name: 'pushed requests, and encrypted request objects, offered',
    options: {
      features: { pushedAuthorizationRequests: { enabled: true }, requestObjects: { enabled: true } },
    },
  },
  { name: 'form_post', formPost: true },
  { name: 'private_key_jwt', hasKey: true, client: { token_endpoint_auth_method: 'private_key_jwt' } },
  { name: 'claims in UserInfo alone', options: { conformIdTokenClaims: true } },
  {
    name: 'claims in a signed UserInfo alone, roles below realm_access',
    options: { conformIdTokenClaims: true, features: { jwtUserinfo: { enabled: true } } },
    client: { userinfo_signed_response_alg: 'ES256' },
    alg: 'ES256',
    groupsClaim: 'realm_access.roles',
  },
];

/** Somebody as the company knows them. */
interface Person {
  readonly id: string;
  readonly groups: readonly number[];
}

describe('a company of 200 that signs in for the first time', () => {
  let fixture: OidcFixture;
  let company: CompanyProvider;
  let classes: readonly number[];
  let parentid: number;
  const next = generator(testSeed());

  before(async () => {
    fixture = await OidcFixture.start({ env: { SIGN_INS_PER_ADDRESS: '100000' } });
    const sites = CASES.map(({ name, alg, client, options }) => ({
      name,
      ...(alg && { alg }),
      ...(options && { options }),
      client: {
        client_id: 'rowpost',
        client_secret: 'a secret of the client',
        redirect_uris: [fixture.redirectUri],
        ...client,
      },
    }));
    company = await startCompanyProvider(sites);
    const { roleid } = await fixture.web.createMember(fixture.root, 'above', ['login', 'select']);
    parentid = roleid;
    const made: number[] = [];
    for (let index = 0; index < CLASSES; index += 1) {
      const input = { name: `class ${index}`, members: index === CLASSES - 1 ? [] : [parentid] };
      made.push(
        Number(textAt(await mutate('role_class', 'classid', input), 'data.create_role_class.classid')),
      );
    }
    classes = made;
  });
  after(async () => {
    await company.stop();
    await fixture.stop();
  });

  const mutate = (object: string, field: string, input: Json) =>
    fixture.web.control(
      fixture.root,
      `mutation ($input: ${object}Input) { create_${object}(input: $input) { ${field} } }`,
      { input },
    );
  const control = async (query: string): Promise<void> => {
    const { errors } = await fixture.web.control(fixture.root, query);
    if (errors) throw new Error(JSON.stringify(errors));
  };

  const someOf = (count: number): readonly number[] =>
    Array.from({ length: count }, (_, index) => index).filter(() => next(3) === 0);
  /** Group g of a person is class g modulo 5, and every class that the role above is not in; from 10 on, none. */
  const classesOf = ({ groups }: Person): readonly number[] =>
    [...new Set(groups.filter((group) => group < 10).map((group) => classes[group % 5]!))].sort(
      (a, b) => a - b,
    );

  const describePeople = (people: readonly Person[]): Promise<void> =>
    company.setPeople(
      Object.fromEntries(
        people.map(({ id, groups }) => {
          const names = groups.map((group) => `group ${group}`);
          return [
            id,
            {
              name: `Person ${id}`,
              email: `${id}@example.com`,
              email_verified: true,
              oid: `oid-of-${id}`,
              groups: names,
              realm_access: { roles: names },
              'https://example.com/groups': names,
            },
          ];
        }),
      ),
    );

  async function configure({
    name,
    client,
    groupsClaim,
    comparisonField,
    withoutIssuer,
    formPost,
    hasKey,
  }: Case): Promise<number> {
    const issuer = company.issuerOf(name);
    const providerid = await fixture.createProvider({
      auth_uri: `${issuer}/auth${formPost ? '?response_mode=form_post' : ''}`,
      token_uri: `${issuer}/token`,
      jwks_uri: `${issuer}/jwks`,
      ...(withoutIssuer ? {} : { issuer }),
      ...(comparisonField && { comparison_field: comparisonField }),
    });
    const confid = await fixture.createConfig(providerid, {
      client_id: client?.['client_id'] ?? 'rowpost',
      client_secret: client?.['client_secret'] ?? 'a secret of the client',
    });
    if (hasKey) {
      const key = await mutate('oidc_key', 'jwks_uri', { confid });
      await company.setClient(name, { jwks_uri: textAt(key, 'data.create_oidc_key.jwks_uri') });
    }
    const made = await mutate('oidc_provisioning', 'confid', {
      confid,
      parentid,
      capabilities: ['login', 'select'],
      name: '{{ claims.name }}',
      scope: 'groups',
      groups_claim: groupsClaim ?? 'groups',
      email_domains: ['example.com'],
    });
    expect(made.errors).to.equal(undefined);
    for (let group = 0; group < 10; group += 1) {
      for (const classid of [classes[group % 5], classes.at(-1)])
        await mutate('oidc_group_class', 'confid', { confid, group_name: `group ${group}`, classid });
    }
    return confid;
  }

  async function signIn(
    confid: number,
    site: string,
    { id }: Person,
  ): Promise<AuthBody & Partial<FailureBody>> {
    const { baseUrl, tenant } = fixture;
    const browser = new HttpBrowser();
    browser.setCookie(company.issuerOf(site), 'person', id);
    const begun = await browser.send(`${baseUrl}/oidc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: JSON.stringify({ tenantid: tenant.tenantid, confid }),
    });
    const address = textAt(await begun.json(), 'authorization_url');
    const callback = await browser.follow(address, (url) => !url.startsWith(baseUrl));
    if (!callback.url.startsWith(baseUrl)) {
      const page = await callback.response.text();
      if (!page.includes('method="post"')) throw new Error(page);
      const inputs = [...page.matchAll(/name="(\w+)" value="([^"]*)"/g)];
      const posted = await browser.send(/action="([^"]+)"/.exec(page)![1]!, {
        method: 'POST',
        headers: { origin: company.issuerOf(site), 'sec-fetch-site': 'same-site' },
        body: new URLSearchParams(
          inputs.map(([, input = '', value = '']): [string, string] => [input, value]),
        ),
      });
      callback.url = new URL(posted.headers.get('location')!, baseUrl).href;
    }
    return (await (await browser.send(callback.url)).json()) as AuthBody & Partial<FailureBody>;
  }

  /** Sixteen at once, in this order. */
  async function signInAll(
    confid: number,
    { name, rotatesKeys }: Case,
    people: readonly Person[],
  ): Promise<readonly (AuthBody & Partial<FailureBody>)[]> {
    const bodies: (AuthBody & Partial<FailureBody>)[] = [];
    let started = 0;
    const work = async (): Promise<void> => {
      for (let index = started++; index < people.length; index = started++) {
        if (rotatesKeys === true && index % 50 === 25) await company.rotateKeys(name);
        // Whom a busy machine keeps waiting too long is asked to come again.
        do bodies[index] = await signIn(confid, name, people[index]!);
        while (bodies[index]?.code === 'TOO_BUSY');
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    return bodies;
  }

  async function rolesOf(confid: number): Promise<ReadonlyMap<number, Json>> {
    const { rows } = await fixture.web.testDatabase.database.pool.query<Json & { roleid: number }>(
      `select roleid, r.name, r.parentid, r.capabilities, array(select unnest(r.classes) order by 1) as classes
       from rowpost.role_oidc m join rowpost.role r using (roleid) where m.confid = $1`,
      [confid],
    );
    return new Map(rows.map(({ roleid, ...role }) => [roleid, role]));
  }

  for (const [number, each] of CASES.entries()) {
    const count = Number(process.env['PEOPLE'] ?? (number === 0 ? PEOPLE : PEOPLE / 5));
    it(each.name, async () => {
      const confid = await configure(each);
      const people = Array.from({ length: count }, (_, index) => ({
        id: `p${index}`,
        groups: someOf(GROUPS),
      }));
      await describePeople(people);
      // Some twice at the same moment.
      const first = people.flatMap((person, index) => (index % 10 === 3 ? [person, person] : [person]));
      const bodies = await signInAll(confid, each, first);
      expect(bodies.filter(({ code }) => code !== undefined)).to.deep.equal([]);
      const roleids = new Map(first.map(({ id }, index) => [id, bodies[index]!.roleid]));
      expect(bodies.map(({ roleid }) => roleid)).to.deep.equal(first.map(({ id }) => roleids.get(id)));
      const roleOf = (person: Person): readonly [number, Json] => [
        roleids.get(person.id)!,
        {
          name: `Person ${person.id}`,
          parentid,
          capabilities: ['login', 'select'],
          classes: classesOf(person),
        },
      ];
      expect(await rolesOf(confid)).to.deep.equal(new Map(people.map(roleOf)));

      // The next day a third has other groups, some have left the company and some the tenant.
      const isAtCompany = (index: number): boolean => index % 20 !== 7;
      const isInTenant = (index: number): boolean => index % 20 !== 8;
      const later = people.map((person) => (next(3) === 0 ? { ...person, groups: someOf(GROUPS) } : person));
      await describePeople(later.filter((_, index) => isAtCompany(index)));
      const deleted = later.filter((_, index) => !isInTenant(index)).map(({ id }) => roleids.get(id)!);
      await control(
        `mutation { ${deleted.map((id) => `d${id}: delete_role(roleid: ${id}) { roleid }`).join(' ')} }`,
      );
      const again = await signInAll(confid, each, later);
      expect(again.map(({ roleid, code }) => code ?? roleid)).to.deep.equal(
        later.map(({ id }, index) => {
          if (!isAtCompany(index)) return 'OIDC_LOGIN_REFUSED';
          return isInTenant(index) ? roleids.get(id) : 'OIDC_ROLE_NOT_MAPPED';
        }),
      );
      const expected = later.map((person, index) =>
        isAtCompany(index) && isInTenant(index) ? roleOf(person) : roleOf(people[index]!),
      );
      expect(await rolesOf(confid)).to.deep.equal(new Map(expected));
    });
  }
});

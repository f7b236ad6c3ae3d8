import { expect } from 'chai';
import { findMapped } from '../../../src/control/oidc/identityRoles.js';
import type { Identity } from '../../../src/control/oidc/identity.js';
import type { StatementRunner } from '../../../src/db/sql/statementRunner.js';
import { OidcFixture } from '../../api/oidc/support/oidcFixture.js';

const PEOPLE = 20_000;
/** Of what a sign-in reads of the mappings: a few pages of an index, and one of the table. */
const MAX_PAGES = 12;

interface Plan {
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly Plan[];
}

describe('the role of an identity', () => {
  let fixture: OidcFixture;
  let confid: number;
  let asked: { readonly text: string; readonly values: readonly unknown[] }[];
  let db: StatementRunner;

  before(async () => {
    fixture = await OidcFixture.start();
    const { pool } = fixture.web.testDatabase.database;
    db = {
      query: (text: string, values: readonly unknown[]) => {
        asked.push({ text, values });
        return pool.query(text, [...values]);
      },
    } as StatementRunner;
    const address = 'https://login.example/';
    confid = await fixture.createConfig(
      await fixture.createProvider({ auth_uri: address, token_uri: address, jwks_uri: address }),
    );
    const { tenantid } = fixture.tenant;
    await pool.query(
      `with made as (
         insert into rowpost.role (tenantid, login, capabilities)
         select $1, 'person ' || n, '{login}' from generate_series(1, $3::int) n returning roleid, login)
       insert into rowpost.role_oidc (tenantid, roleid, confid, sub_id)
       select $1, roleid, $2, replace(login, ' ', '.') || '@Example.com' from made`,
      [tenantid, confid, PEOPLE],
    );
    await pool.query('analyze rowpost.role_oidc');
  });
  after(() => fixture.stop());
  beforeEach(() => {
    asked = [];
  });

  const identity = (subId: string, isAddress: boolean): Identity => ({
    tenantid: fixture.tenant.tenantid,
    confid,
    providerid: 1,
    subId,
    isAddress,
    claims: {},
    readMore: () => Promise.resolve(undefined),
    emailAlwaysVerified: false,
  });
  const pagesOf = (plan: Plan): number =>
    plan['Relation Name'] === 'role_oidc'
      ? plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
      : (plan.Plans ?? []).reduce((pages, child) => pages + pagesOf(child), 0);

  it('is found among those of a large company without reading theirs, in any case of an address', async () => {
    for (const [subId, isAddress, isFound] of [
      ['person.7@Example.com', false, true],
      ['person.7@example.com', false, false],
      ['person.7@example.com', true, true],
      ['PERSON.7@EXAMPLE.COM', true, true],
      ['nobody@example.com', true, false],
    ] as const) {
      asked = [];
      const found = await findMapped(db, identity(subId, isAddress));
      expect(found !== undefined, `${subId} ${isAddress}`).to.equal(isFound);
      for (const { text, values } of asked) {
        const { rows } = await fixture.web.testDatabase.database.pool.query<{
          'QUERY PLAN': readonly { readonly Plan: Plan }[];
        }>(`explain (analyze, buffers, format json) ${text}`, [...values]);
        const pages = pagesOf(rows[0]!['QUERY PLAN'][0]!.Plan);
        expect(pages, `${subId} ${isAddress}: ${text}`).to.be.within(1, MAX_PAGES);
      }
    }
  });
});

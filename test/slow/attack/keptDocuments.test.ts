import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { Conditions } from '../../../src/graphql/email/condition.js';
import { WebFixture } from '../../api/webFixture.js';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

function heapMb(): number {
  collect();
  return process.memoryUsage().heapUsed / 1e6;
}

/** What was kept of one tenant's requests took 600 MB, counted as a few: the heap of a web process in a container of 1 GiB. */
describe('attack: requests that take much memory once parsed', function () {
  let fixture: WebFixture;
  let root: string;
  let hostile: CreatedTenant;

  before(async () => {
    fixture = await WebFixture.start();
    hostile = await fixture.createTenant('hostile', 'create table t (a int primary key, b int, c int)');
    root = (await fixture.signIn(hostile.tenantid)).access_token;
  });
  after(() => fixture.stop());

  /** 1,900 names of one letter, unlike any other document. */
  function selecting(at: number, table: string, column: string): string {
    const fields = Array.from({ length: 38 }, (_, n) => `a${at}x${n}:${table}{${`${column} `.repeat(50)}}`);
    return `{${fields.join('')}}`;
  }

  it('are kept within tens of megabytes', async () => {
    await fixture.graphql('/query', root, selecting(0, 't', 'a'));
    const before = heapMb();
    for (let at = 1; at <= 150; at++) {
      const response = await fixture.graphql('/query', root, selecting(at, 't', 'a'));
      expect(response.errors).to.equal(undefined);
    }
    expect(heapMb() - before).to.be.below(60);
  });

  it('are kept at /roles_pbac within a few', async () => {
    await fixture.control(root, selecting(0, 'role', 'name'));
    const before = heapMb();
    for (let at = 1; at <= 50; at++) {
      const response = await fixture.control(root, selecting(at, 'role', 'name'));
      expect(response.errors).to.equal(undefined);
    }
    expect(heapMb() - before).to.be.below(20);
  });

  const shape = (at: number, prefix: string): string =>
    Array.from(
      { length: 150 },
      (_, n) => `${prefix}${'abc'[(Math.floor(at / 3 ** (n % 7)) + n) % 3]}=1`,
    ).join(' or ');

  it('are kept with filters of any shape', async () => {
    const query = 'query ($filter: String) { t(filter: $filter) { a } }';
    await fixture.graphql('/query', root, query, { filter: shape(0, '') });
    const before = heapMb();
    for (let at = 1; at <= 500; at++) {
      const response = await fixture.graphql('/query', root, query, { filter: shape(at, '') });
      expect(response.errors).to.equal(undefined);
    }
    expect(heapMb() - before).to.be.below(70);
  });

  it('as conditions of emails are kept within tens of megabytes', async () => {
    const catalog = await fixture.engine.catalog(hostile.tenantid, hostile.schema);
    const conditions = new Conditions(fixture.testDatabase.database.transactions);
    const before = heapMb();
    for (let at = 1; at <= 500; at++) conditions.check(1, catalog, 't', shape(at, 'new.'));
    expect(heapMb() - before).to.be.below(35);
  });
});

import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

const LONG = 'x'.repeat(1_001);

describe("attack: names that fill the lists of a tenant's roles and classes", () => {
  let fixture: WebFixture;
  let root: string;
  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop', 'create table t (id int primary key)');
    root = (await fixture.signIn(tenantid)).access_token;
  });
  after(() => fixture.stop());

  // Seventeen names of a megabyte made every page with a choice of roles fail.
  it('have a length, for every role that may give one', async () => {
    const capabilities = ['login', 'create_role', 'update_role', 'create_class', 'update_class'];
    const eve = await fixture.createMember(root, 'eve', capabilities);
    for (const [kind, key] of [
      ['role', 'roleid'],
      ['role_class', 'classid'],
    ] as const) {
      const create = `mutation ($name: String) { made: create_${kind}(input: { name: $name }) { id: ${key} } }`;
      const made = await fixture.control(eve.token, create, { name: LONG.slice(1) });
      const { id } = (made.data as { readonly made: { readonly id: number } }).made;
      const change = (at: number): string =>
        `mutation ($name: String) { update_${kind}(${key}: ${at}, input: { name: $name }) { ${key} } }`;
      for (const mutation of [create, change(id), ...(kind === 'role' ? [change(eve.roleid)] : [])]) {
        for (const token of [eve.token, root]) {
          const { errors } = await fixture.control(token, mutation, { name: LONG });
          expect(errors?.[0]?.message, mutation).to.equal('name has at most 1000 characters.');
        }
      }
    }
  });
});

import { expect } from 'chai';
import { WebFixture } from '../api/webFixture.js';

/** Control lists and tenants' requests run on the same connections, which keep prepared statements by name. */
describe('roles_pbac and /query on the same connections', () => {
  it('do not mix up each other’s statements', async () => {
    const fixture = await WebFixture.start();
    try {
      const tenant = await fixture.createTenant(
        'shop',
        'create table customer (id int primary key, name text)',
      );
      const root = (await fixture.signIn(tenant.tenantid)).access_token;
      await fixture.control(root, '{ Utility { introspect } }');
      let next = 1;
      const write = async (): Promise<void> => {
        const query = 'mutation ($input: customerInput) { create_customer(input: $input) { id } }';
        const { errors } = await fixture.graphql('/query', root, query, { input: { id: next++, name: 'x' } });
        expect(errors, JSON.stringify(errors)).to.equal(undefined);
      };
      const list = async (): Promise<void> => {
        const fields = Array.from({ length: 17 }, (_, index) => `a${index}: role { roleid }`).join(' ');
        const { errors } = await fixture.control(root, `{ ${fields} }`);
        expect(errors).to.equal(undefined);
      };
      // Statements get names after five runs, on each connection of the pool.
      for (let round = 0; round < 12; round++) {
        await Promise.all([...Array.from({ length: 8 }, write), ...Array.from({ length: 4 }, list)]);
      }
      for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 8 }, write));
    } finally {
      await fixture.stop();
    }
  });
});

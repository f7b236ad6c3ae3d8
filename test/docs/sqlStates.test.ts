import { expect } from 'chai';
import {
  FAILING_REQUESTS,
  FAILING_TABLES,
  SQL_STATE_EXAMPLES,
  SQL_STATE_TABLES,
} from '../../scripts/sqlStateExamples.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

describe('docs/reference/errors.md, errors of PostgreSQL', () => {
  let shop: Shop;
  before(async () => (shop = await openShop(`${SQL_STATE_TABLES}${FAILING_TABLES}`)));
  after(() => shop.close());

  for (const [state, statement, code, message] of SQL_STATE_EXAMPLES) {
    it(`${state} by ${statement}`, async () => {
      const { status, errors } = await shop.ask(
        'mutation ($statement: String) { create_run(input: { id: 1, statement: $statement }) { id } }',
        { statement },
      );
      expect(errors?.[0]).to.deep.include({ message });
      expect(errors?.[0]?.extensions.code).to.equal(code);
      if (code === 'TENANT_CODE_FAILED') expect(errors?.[0]?.extensions['sqlstate']).to.equal(state);
      expect(status).to.equal(200);
    });
  }

  for (const [request, code, message] of FAILING_REQUESTS) {
    it(request, async () => {
      const { status, errors } = await shop.ask(request);
      expect(errors?.[0]).to.deep.include({ message });
      expect(errors?.[0]?.extensions.code).to.equal(code);
      if (code === 'TENANT_CODE_FAILED')
        expect(errors?.[0]?.extensions['sqlstate']).to.match(/^[0-9A-Z]{5}$/);
      expect(status).to.equal(200);
    });
  }
});

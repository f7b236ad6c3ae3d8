import { expect } from 'chai';
import type { Transactions } from '../../src/db/pool/transactions.js';
import { AppError } from '../../src/foundation/errors.js';
import { Conditions } from '../../src/graphql/email/condition.js';
import { openShop, type Shop } from '../graphql/support/shop.js';

describe('attack: conditions that run out of time', () => {
  let shop: Shop;
  before(async () => (shop = await openShop('create table note (id int primary key, body text)')));
  after(() => shop.close());

  /** Statements that a batch of a hundred events takes, when those over events of `slow` time out. */
  async function check(slow: (id: number) => boolean): Promise<{ statements: number; failed: number[] }> {
    let statements = 0;
    const { transactions } = shop.test.database;
    const timingOut = {
      run: (request: Parameters<Transactions['run']>[0]) => {
        statements += 1;
        const records = request.statements[0]?.values.find(
          (value) => Array.isArray(value) && typeof value[0] === 'string',
        ) as string[];
        const isSlow = records.some((record) => slow((JSON.parse(record) as { id: number }).id));
        if (!isSlow) return transactions.run(request);
        const error = new AppError('STATEMENT_TIMEOUT', 'The statement took too long and was ended.');
        return Promise.resolve({ kind: 'failed' as const, error, statement: 0 });
      },
    } as unknown as Transactions;
    const { tenantid, schema } = shop.tenant;
    const events = Array.from({ length: 100 }, (_, id) => ({
      old: null,
      new: JSON.stringify({ id, body: 'x' }),
    }));
    const catalog = await shop.engine.catalog(tenantid, schema);
    const verdicts = await new Conditions(timingOut).evaluate(
      tenantid,
      catalog,
      'note',
      "new.body = 'x' and new.id >= 0",
      events,
    );
    return { statements, failed: verdicts.flatMap((verdict, id) => (verdict === true ? [] : [id])) };
  }

  it('fail alone while they are few', async () => {
    expect(await check((id) => id === 17)).to.deep.equal({ statements: 21, failed: [17] });
    expect((await check((id) => id === 17 || id === 71)).failed).to.deep.equal([17, 71]);
  });

  it('take eight statements, not a hundred, when there are many', async () => {
    const { statements, failed } = await check(() => true);
    expect(statements).to.equal(8);
    expect(failed).to.have.length(100);
  });
});

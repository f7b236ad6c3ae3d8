import { expect } from 'chai';
import { ConsoleShop } from '../../api/consoleShop.js';
import { up as recipientsSoFar } from '../../../migrations/0022_recipients_so_far.js';

/** Finds deliveries by address; triggers keep it. */
describe('recipients of deliveries, by address', () => {
  let shop: ConsoleShop;
  let order: string;
  before(async () => {
    shop = await ConsoleShop.open();
    order = await shop.changeOrder(7, 'new', 'paid');
  });
  after(() => shop.close());

  const run = async (text: string, values: readonly unknown[] = []): Promise<readonly Pair[]> =>
    (await shop.fixture.testDatabase.database.pool.query<Pair>(text, [...values])).rows;
  const noted = async (): Promise<readonly string[]> =>
    textsOf(
      await run(`select deliveryid::text as id, address from rowpost.email_recipient where tenantid = $1`, [
        shop.tenantid,
      ]),
    );
  const start = (id: string, recipients: readonly string[], intended: readonly string[] | null) =>
    run(
      `insert into rowpost.delivery_start (tenantid, deliveryid, leased_until, recipients, intended, subject, createtime)
       select tenantid, deliveryid, now(), $2, $3, '', createtime from rowpost.delivery where deliveryid = $1`,
      [id, recipients, intended],
    );
  const expected: Pair[] = [];
  const expectAll = async (): Promise<void> => {
    const pairs = expected;
    expect(await noted()).to.deep.equal(textsOf(pairs));
  };
  const meant = (id: string, ...texts: readonly string[]): void => {
    expected.push(...texts.map((address) => ({ id, address })));
  };

  it('are noted however a delivery gets them, with a name or without, once', async () => {
    const held = await shop.deliver(order, {
      state: 'skipped',
      intended: ['Zoe Bad <Zoe at Example>', 'zoe at example'],
    });
    meant(held, 'zoe at example');
    const started = await shop.deliver(order, { state: 'pending', tracked: false });
    await start(started, ['Ada <ADA@example.com>', 'copy@example.com'], null);
    meant(started, 'ada@example.com', 'copy@example.com');
    const some = await shop.deliver(order, { state: 'pending', tracked: false });
    await start(some, ['bob@example.com'], ['Bob <bob@example.com>', 'suppressed@example.com']);
    meant(some, 'bob@example.com', 'suppressed@example.com');
    const nobody = await shop.deliver(order, { state: 'pending' });
    await expectAll();

    // What fails before it is started, and what is sent again to others.
    await run(
      `update rowpost.delivery set state = 'failed', intended = '{late@example.com}' where deliveryid = $1`,
      [nobody],
    );
    meant(nobody, 'late@example.com');
    await run(
      `update rowpost.delivery set recipients = '{eve@example.com}', intended = null where deliveryid = $1`,
      [held],
    );
    meant(held, 'eve@example.com');
    await run(`update rowpost.delivery set due = now() where tenantid = $1`, [shop.tenantid]);
    await expectAll();
  });

  it('are cut if they are longer than an index holds, which keeps no email from being sent', async () => {
    const long = `${'ä'.repeat(5_000)}@example.com`;
    const id = await shop.deliver(order, { state: 'failed', intended: [long] });
    expected.push({ id, address: 'ä'.repeat(320) });
    await expectAll();
  });

  it('are taken over from deliveries that there are, also those only an error names', async () => {
    const before = await shop.deliver(order, {
      state: 'skipped',
      error_code: 'SUPPRESSED',
      error:
        'every recipient is on the suppression list: joe@example.com (its email bounced), ann@example.com (its owner complained) and 2 more',
    });
    meant(before, 'joe@example.com', 'ann@example.com');
    const unsubscribed = await shop.deliver(order, {
      state: 'skipped',
      error_code: 'UNSUBSCRIBED',
      error: 'every recipient has unsubscribed: una@example.com and 1 more',
    });
    meant(unsubscribed, 'una@example.com');
    await run('truncate rowpost.email_recipient');
    await recipientsSoFar({ raw: (text: string) => run(text) });
    // Deliveries that changed their recipients have those now.
    const gone = expected.findIndex(({ address }) => address === 'zoe at example');
    expected.splice(gone, 1);
    await expectAll();
  });
});

interface Pair {
  readonly id: string;
  readonly address: string;
}

const textsOf = (pairs: readonly Pair[]): readonly string[] =>
  pairs.map(({ id, address }) => `${id} ${address}`).sort();

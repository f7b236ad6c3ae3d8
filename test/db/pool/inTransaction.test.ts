import { expect } from 'chai';
import { attempt, inTransaction } from '../../../src/db/pool/inTransaction.js';
import { isUniqueViolation } from '../../../src/db/sql/sqlState.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

describe('a transaction of the service', () => {
  let test: TestDatabase;
  before(async () => {
    test = await createTestDatabase();
    await test.database.pool.query('create table public.note (id int primary key)');
  });
  after(() => test.drop());

  const notes = async (): Promise<readonly number[]> => {
    const { rows } = await test.database.pool.query<{ id: number }>('select id from public.note order by id');
    return rows.map(({ id }) => id);
  };
  const failing = (
    id: number,
    statement: string,
  ): Promise<{ readonly pid: number; readonly error: unknown }> => {
    let pid = 0;
    return inTransaction(test.database.pool, async (client) => {
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
      pid = rows[0]?.pid ?? 0;
      await client.query('insert into public.note values ($1)', [id]);
      await client.query(statement);
    }).then(
      () => expect.fail('it did not fail'),
      (error: unknown) => ({ pid, error }),
    );
  };
  const isOpen = async (pid: number): Promise<boolean> =>
    (await test.database.pool.query('select from pg_stat_activity where pid = $1', [pid])).rows.length > 0;

  it('that fails is rolled back, and its connection used again', async () => {
    const { pid } = await failing(1, 'select 1 / 0');
    expect(await notes()).to.deep.equal([]);
    expect(await isOpen(pid)).to.equal(true);
  });

  it('whose connection breaks throws the cause, and leaves no connection', async () => {
    const { pid, error } = await failing(2, 'select pg_terminate_backend(pg_backend_pid())');
    expect(error).to.be.an('error');
    expect(await notes()).to.deep.equal([]);
    expect(await isOpen(pid)).to.equal(false);
  });

  it('continues without what failed as expected, and only then', async () => {
    const insertTwice = (expected: (error: unknown) => boolean): Promise<boolean> =>
      inTransaction(test.database.pool, async (client) => {
        await client.query('insert into public.note values (3)');
        return attempt(client, () => client.query('insert into public.note values (4), (3)'), expected);
      });
    await insertTwice(() => false).then(
      () => expect.fail('it did not fail'),
      (error: unknown) => expect(isUniqueViolation(error)).to.equal(true),
    );
    expect(await notes()).to.deep.equal([]);
    expect(await insertTwice(isUniqueViolation)).to.equal(false);
    expect(await notes()).to.deep.equal([3]);
  });
});

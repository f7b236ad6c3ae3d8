import { expect } from 'chai';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { codeOf, WebFixture, type GraphqlResult } from '../../api/webFixture.js';

const ROWS = 200_000;
const REQUESTS = 12;
/** Slow on many rows, and no index helps. */
const SLOW = Array.from({ length: 20 }, (_, index) => `lower(address) like '%y${index}%z${index}%'`).join(
  ' or ',
);

/** One tenant's filters held every connection of the service until the statement timeout, and nobody signed in. */
describe('attack: slow filters on control objects hold the connections of the service', () => {
  let fixture: WebFixture;
  let attacker: string;
  let neighbor: CreatedTenant;
  let most: number;

  before(async function () {
    // A new sign-in from the same address each time is not what this is about.
    fixture = await WebFixture.start({ env: { PG_POOL: '12', SIGN_INS_PER_ADDRESS: '0' } });
    const { database } = fixture.testDatabase;
    most = database.pool.options.max / 2;
    const tenant = await fixture.createTenant('attacker');
    neighbor = await fixture.createTenant('neighbor', 'create table note (id int primary key)');
    attacker = (await fixture.signIn(tenant.tenantid)).access_token;
    // In parts, within the statement timeout of a busy machine.
    for (let part = 0; part < 10; part++) {
      await database.pool.query(
        `insert into rowpost.email_suppression (tenantid, address, source)
         select $1, repeat('x', 200) || $2::int || '.' || n || '@example.com', 'manual' from generate_series(1, $3::int) n`,
        [tenant.tenantid, part, ROWS / 10],
      );
    }
  });
  after(() => fixture.stop());

  const list = async (): Promise<GraphqlResult> =>
    fixture.control(attacker, 'query ($filter: String) { email_suppression(filter: $filter) { address } }', {
      filter: SLOW,
    });

  /** How many statements of the service run now, this one left out. */
  async function running(): Promise<number> {
    const { rows } = await fixture.testDatabase.database.ledgerPool.query<{ n: number }>(
      `select count(*)::int as n from pg_stat_activity where datname = current_database() and state = 'active'
         and query like '%email_suppression%' and pid <> pg_backend_pid()`,
    );
    return rows[0]!.n;
  }

  it('but each ends after two seconds, they get half, and a neighbor signs in and reads meanwhile', async () => {
    let isOver = false;
    const codes: (string | undefined)[] = [];
    expect(most).to.equal(2);
    const attack = Promise.all(
      Array.from({ length: REQUESTS }, async () => {
        while (!isOver) codes.push(codeOf(await list()));
      }),
    );
    const { pool } = fixture.testDatabase.database;
    const held: number[] = [];
    const waiting: number[] = [];
    const watch = setInterval(() => waiting.push(pool.waitingCount), 5);
    const until = performance.now() + 4_000;
    while (performance.now() < until) {
      held.push(await running());
      const { access_token: token } = await fixture.signIn(neighbor.tenantid);
      fixture.principals.forgetAll();
      expect((await fixture.graphql('/query', token, '{ note { id } }')).errors).to.equal(undefined);
    }
    clearInterval(watch);
    isOver = true;
    await attack;
    expect(Math.max(...held)).to.be.within(1, most);
    expect(Math.max(...waiting), 'who waited for a connection').to.equal(0);
    expect(codes).to.include('STATEMENT_TIMEOUT');
    expect(codes.filter((code) => code !== 'STATEMENT_TIMEOUT' && code !== 'TOO_BUSY')).to.deep.equal([]);
  });

  it('also in redrive_email_deliveries, whose filter runs on the connection of its mutation', async () => {
    const { pool } = fixture.testDatabase.database;
    const inUse: number[] = [];
    const count = (): void => void inUse.push(pool.totalCount - pool.idleCount);
    pool.on('acquire', count);
    const { data } = await fixture.control(
      attacker,
      'mutation { Utility { redrive_email_deliveries(filter: "subject like \'%x%\'") } }',
    );
    pool.off('acquire', count);
    expect(data).to.deep.equal({ Utility: { redrive_email_deliveries: 0 } });
    expect(Math.max(...inUse)).to.equal(1);
  });
});

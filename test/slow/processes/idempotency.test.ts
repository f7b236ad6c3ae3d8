import { expect } from 'chai';
import { setTimeout as delay } from 'node:timers/promises';
import { createFleet, type Fleet } from '../../processes/fleet.js';

/** The long form: IDEMPOTENCY_REQUESTS=10000. */
const REQUESTS = Number(process.env['IDEMPOTENCY_REQUESTS'] ?? 400);
const CLIENTS = 16;
const MAX_TIMES = 3;
/** A connection is cut at a random time within this. */
const CUT_WITHIN_MS = 30;
const RETRY_MS = 20;
const KILLS = 5;

const CREATE =
  'mutation ($name: String) { create_customer(input: {name: $name, email: "a@example.com"}) { customer_id } }';

describe('requests with an Idempotency-Key, over connections that are cut and web processes that are killed', function () {
  this.timeout(600_000 + REQUESTS * 50);
  let fleet: Fleet;
  before(async () => (fleet = await createFleet({ postgres: 18, redisUrl: undefined })));
  after(() => fleet.stop());

  it('take effect once each, and every repeat is answered as the first', async () => {
    const webs = [await fleet.start('web'), await fleet.start('web')];
    let sent = 0;
    let cut = 0;
    let isOver = false;

    const killer = async (): Promise<void> => {
      for (let kill = 1; kill <= KILLS; kill++) {
        while (!isOver && sent < (REQUESTS * kill) / (KILLS + 1)) await delay(5);
        if (isOver) return;
        await webs.shift()!.kill('SIGKILL');
        webs.push(await fleet.start('web'));
      }
    };
    /** @returns undefined when no response came, or none that is final */
    const attempt = async (key: string): Promise<string | undefined> => {
      const { baseUrl, token } = fleet.web();
      // Half of them are cut, before or after the commit.
      const signal =
        Math.random() < 0.5 ? AbortSignal.timeout(Math.ceil(Math.random() * CUT_WITHIN_MS)) : null;
      try {
        const response = await fetch(`${baseUrl}/query`, {
          method: 'POST',
          headers: {
            'content-type': 'application/json',
            authorization: `Bearer ${token}`,
            'idempotency-key': key,
          },
          body: JSON.stringify({ query: CREATE, variables: { name: key } }),
          signal,
        });
        const body = await response.text();
        if (response.status === 200 && body.startsWith('{"data":{"create')) return body;
        expect(response.status, body).to.be.oneOf([409, 503]);
      } catch (error) {
        if (!(error instanceof TypeError) && (error as Error).name !== 'TimeoutError') throw error;
        cut += 1;
      }
      return undefined;
    };
    const responses = new Map<string, Set<string>>();
    const client = async (): Promise<void> => {
      while (sent < REQUESTS) {
        const key = `request ${sent++}`;
        const times = 1 + Math.floor(Math.random() * MAX_TIMES);
        const given = new Set<string>();
        responses.set(key, given);
        for (let time = 0; time < times; time++) {
          let body: string | undefined;
          while ((body = await attempt(key)) === undefined) await delay(RETRY_MS);
          given.add(body);
        }
      }
    };
    const kills = killer();
    await Promise.all(Array.from({ length: CLIENTS }, client));
    isOver = true;
    await kills;

    expect([...responses].filter(([, given]) => given.size !== 1)).to.deep.equal([]);
    const { pool } = fleet.testDatabase.database;
    const schema = `tenant_${fleet.tenantid}`;
    const { rows } = await pool.query<{ rows: number; names: number; events: number }>(
      `select (select count(*)::int from ${schema}.customer where name like 'request %') as rows,
         (select count(distinct name)::int from ${schema}.customer where name like 'request %') as names,
         (select count(*)::int from rowpost.outbox where new->>'name' like 'request %') as events`,
    );
    expect(rows[0]).to.deep.equal({ rows: REQUESTS, names: REQUESTS, events: REQUESTS });
    expect(cut, 'responses that never came').to.be.above(REQUESTS / 20);
  });
});

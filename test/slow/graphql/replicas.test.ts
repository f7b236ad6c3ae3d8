import { expect } from 'chai';
import { runDoctor } from '../../../src/commands/doctor.js';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { createTestTenant } from '../../support/createTestTenant.js';
import { ensureInstallation } from '../../../src/control/tenants/installation.js';
import { openDatabase, type Database } from '../../../src/db/pool/database.js';
import { PrincipalSource, type Principal } from '../../../src/db/roles/principal.js';
import { runTenantSql } from '../../../src/db/tenants/tenantSql.js';
import { createDataEngine, type DataEngine } from '../../../src/graphql/dataEngine.js';
import { replicaReads } from '../../../src/foundation/observability/metrics.js';
import { PREPARED_TEMPLATE } from '../../support/preparedCluster.js';
import { startReplicatedPostgres, type ReplicatedPostgres } from '../../support/replicatedPostgres.js';
import { TEST_BUDGET, testConfig, testEnv, testKeyRing, testLog } from '../../support/testConfig.js';
import { waitFor } from '../../support/waitFor.js';

const MAX_LAG_MS = 6_000;
const STRICT_LAG_MS = 1_000;
const READ_ONLY = { allowMutation: false };
const WITH_CODE = `create function doubled(n int) returns int language sql immutable as 'select 2 * n';
  create table counted (id int primary key, n int not null, twice int generated always as (doubled(n)) stored)`;

describe('reads on a replica', () => {
  let postgres: ReplicatedPostgres;
  let database: Database;
  let engine: DataEngine;
  let root: Principal;
  let tenant: CreatedTenant;
  let lastId = 0;

  const open = (maxReplicaLagMs: number): { readonly database: Database; readonly engine: DataEngine } => {
    const opened = openDatabase({
      url: postgres.primaryUrl(PREPARED_TEMPLATE),
      replicaUrls: [postgres.standbyUrl(PREPARED_TEMPLATE)],
      maxReplicaLagMs,
      budget: TEST_BUDGET,
      keyRing: testKeyRing,
      statementTimeoutMs: 60_000,
      lockTimeoutMs: 1_000,
      poolTimeoutMs: 60_000,
      applicationName: 'rowpost test',
      log: testLog,
    });
    return {
      database: opened,
      engine: createDataEngine({ database: opened, config: testConfig(), log: testLog }),
    };
  };
  const ask = async (query: string, mayReadReplica = true, by = root, from = engine): Promise<unknown> => {
    const response = await from.execute(
      by,
      { query },
      {
        allowMutation: true,
        readFrom: mayReadReplica ? 'replica' : 'primary',
      },
    );
    response.release?.();
    return JSON.parse(response.body) as unknown;
  };
  /** @returns its number */
  const insert = async (): Promise<number> => {
    const id = ++lastId;
    const reply = await ask(`mutation { create_note(input: {id: ${id}}) { id } }`);
    expect(reply).to.deep.equal({ data: { create_note: { id: String(id) } } });
    return id;
  };
  const has = async (id: number, mayReadReplica = true, from = engine): Promise<boolean> => {
    const reply = await ask(`{ note(filter: "id = ${id}") { id } }`, mayReadReplica, root, from);
    const rows = (reply as { data: { note: unknown[] } }).data.note;
    return rows.length === 1;
  };
  const count = async (outcome: string): Promise<number> =>
    (await replicaReads.get()).values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
  const counted = async (outcome: string, work: () => Promise<unknown>): Promise<number> => {
    const before = await count(outcome);
    await work();
    return (await count(outcome)) - before;
  };
  const followed = (of = database): Promise<unknown> =>
    waitFor('a replica that follows', () => (of.replicas.lags()[0]?.lagMs ?? Infinity) < 1_500);
  const openTenant = async (name: string, sql: string): Promise<[CreatedTenant, Principal]> => {
    const made = await createTestTenant(database.pool, {
      name,
      rootLogin: 'root',
      rootPassword: 'correct horse',
    });
    await runTenantSql(database, { tenantid: made.tenantid, sql });
    const principal = await new PrincipalSource(database.pool).load(made.tenantid, made.rootRoleid);
    return [made, principal!];
  };

  before(async () => {
    postgres = await startReplicatedPostgres();
    ({ database, engine } = open(MAX_LAG_MS));
    await ensureInstallation(database.pool, 'installation root');
    [tenant, root] = await openTenant('shop', 'create table note (id int primary key)');
  });
  after(async () => {
    await database.close();
    await postgres.stop();
  });

  it('serves a query that allows it, even for a tenant with code in its schema', async () => {
    await followed();
    const id = await insert();
    await waitFor('the row on the replica', () => has(id));
    expect(await counted('served', () => has(id))).to.equal(1);
    expect(await counted('served', () => has(id, false))).to.equal(0);
    const byRole = (readsReplica: boolean): Promise<number> =>
      counted('served', () =>
        engine.execute({ ...root, readsReplica }, { query: '{ note { id } }' }, READ_ONLY),
      );
    expect(await byRole(true)).to.equal(1);
    expect(await byRole(false)).to.equal(0);
    const [, other] = await openTenant('counting', WITH_CODE);
    await ask('mutation { create_counted(input: {id: 1, n: 4}) { id } }', false, other);
    await followed();
    const query = '{ counted { twice } }';
    // The login is made, and its password known to the replica, when it is first needed.
    await ask(query, true, other);
    await waitFor(
      'a response of the replica',
      async () => (await counted('served', () => ask(query, true, other))) === 1,
    );
    expect(await ask(query, true, other)).to.deep.equal({ data: { counted: [{ twice: 8 }] } });
  });

  it('are checked by rowpost doctor', async () => {
    const find = async (replica: string): Promise<string | undefined> => {
      const lines: string[] = [];
      const env = testEnv({
        DATABASE_URL: postgres.primaryUrl(PREPARED_TEMPLATE),
        DATABASE_REPLICA_URLS: replica,
      });
      await runDoctor(env, (line) => lines.push(line));
      return lines.find((line) => / replicas /.test(line));
    };
    expect(await find(postgres.standbyUrl(PREPARED_TEMPLATE))).to.match(/^✓ .*one follows the primary/);
    expect(await find('postgres://rowpost@127.0.0.1:1/none')).to.match(
      /^✗ .*127\.0\.0\.1:1 does not respond, or lags/,
    );
  });

  it('commits a mutation on the primary', async () => {
    expect(await counted('served', insert)).to.equal(0);
  });

  describe('that lags behind', () => {
    afterEach(async () => {
      await postgres.resumeReplay();
      await followed();
    });

    it('serves its own state', async () => {
      await postgres.pauseReplay();
      const id = await insert();
      expect(await has(id)).to.equal(false);
      expect(await has(id, false)).to.equal(true);
      await postgres.resumeReplay();
      await waitFor('the row on the replica', () => has(id));
    });

    it('serves no email query before it has the event', async () => {
      await postgres.pauseReplay();
      const id = await insert();
      const { rows } = await database.pool.query<{ eventid: string; time: string }>(
        'select eventid::text as eventid, time::text as time from rowpost.outbox order by eventid desc limit 1',
      );
      const [event] = rows;
      const query = { query: `{ note(filter: "id = ${id}") { id } }` };
      expect(await counted('behind', () => engine.readsWith(event!))).to.equal(1);
      const onReplica = async (): Promise<boolean> => {
        const reads = await engine.readsWith(event!);
        // Whoever reads, it is there.
        expect(await engine.runEmailQuery(root, query, { reads })).to.deep.include({
          json: `[{"id":"${id}"}]`,
        });
        return reads !== undefined;
      };
      expect(await onReplica()).to.equal(false);
      await postgres.resumeReplay();
      await waitFor('the event on the replica', onReplica);
      expect(await engine.readsWith({ ...event!, eventid: '999999999' })).to.equal(undefined);
    });

    it('leaves to the primary whatever it does not know yet', async () => {
      await postgres.pauseReplay();
      await runTenantSql(database, {
        tenantid: tenant.tenantid,
        sql: 'create table news (id int primary key); insert into news values (1)',
      });
      await engine.introspect(root.tenantid, root.schema!);
      const work = async (): Promise<void> => {
        expect(await ask('{ news { id } }')).to.deep.equal({ data: { news: [{ id: '1' }] } });
      };
      expect(await counted('failed', work)).to.equal(1);
    });

    it('by more than MAX_REPLICA_LAG_SECONDS serves nothing', async () => {
      const strict = open(STRICT_LAG_MS);
      const lagMs = (): number | undefined => strict.database.replicas.lags()[0]?.lagMs;
      try {
        await waitFor('a heartbeat', () => lagMs() !== undefined);
        await postgres.pauseReplay();
        const id = await insert();
        await waitFor('a lag', () => (lagMs() ?? 0) > STRICT_LAG_MS);
        expect(await has(id, true, strict.engine)).to.equal(true);
      } finally {
        await strict.database.close();
      }
    });
  });

  describe('that fails', () => {
    it('falls back to the primary when the replica stops responding', async () => {
      const id = await insert();
      await waitFor('the row on the replica', () => has(id));
      await postgres.pauseStandby();
      try {
        const startedMs = performance.now();
        expect(await has(id)).to.equal(true);
        expect(performance.now() - startedMs).to.be.below(30_000);
        expect(await counted('behind', () => has(id))).to.equal(1);
      } finally {
        await postgres.resumeStandby();
      }
      await waitFor('a response of the replica', async () => (await counted('served', () => has(id))) === 1);
    });

    it('queries no server that follows another primary', async () => {
      await postgres.promote();
      await waitFor('the primary alone', async () => (await counted('behind', () => has(1))) === 1);
      const id = await insert();
      expect(await has(id)).to.equal(true);
    });
  });
});

import { expect } from 'chai';
import { once } from 'node:events';
import { startFakeProvider, type FakeProvider } from '../../support/fakeProvider.js';
import { startRedis, type RedisServer } from '../../support/redisServer.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';
import {
  BACKENDS,
  countStates,
  createRule,
  createTenant,
  forkWorker,
  pipelineConfig,
  pipelineEnv,
  startPipeline,
  writeEvents,
  type Pipeline,
  type TestTenant,
} from '../../delivery/pipelineSetup.js';

/** Sends per delivery ≤ 1 + recorded ambiguous outcomes; every event × rule has its delivery, and every one is sent. */
async function expectAccounted(
  db: TestDatabase,
  provider: FakeProvider,
  tenant: TestTenant,
  deliveries: number,
) {
  const { rows } = await db.database.pool.query<{ deliveryid: string; state: string; ambiguous: number }>(
    `select d.deliveryid::text as deliveryid, d.state,
        (select count(*)::int from rowpost.email_attempt a where a.tenantid = d.tenantid and a.deliveryid = d.deliveryid
          and a.outcome = 'ambiguous') as ambiguous
      from rowpost.email_delivery d where d.tenantid = $1`,
    [tenant.tenantid],
  );
  expect(rows).to.have.length(deliveries);
  const accepted = provider.acceptedPerDelivery();
  for (const row of rows) {
    const sends = accepted.get(row.deliveryid) ?? 0;
    expect(row.state).to.equal('sent');
    expect(sends, `sends of ${row.deliveryid}`).to.be.within(1, 1 + row.ambiguous);
  }
}

for (const backend of BACKENDS) {
  describe(`delivery: faults, queue in ${backend}`, function () {
    let db: TestDatabase;
    let provider: FakeProvider;
    let redis: RedisServer | undefined;
    let tenant: TestTenant;
    let env: Readonly<Record<string, string>>;
    let pipeline: Pipeline | undefined;

    beforeEach(async () => {
      db = await createTestDatabase();
      provider = await startFakeProvider();
      redis = backend === 'redis' ? await startRedis() : undefined;
      tenant = await createTenant(db.database);
      await createRule(db.database, tenant);
      env = await pipelineEnv(backend, {
        DATABASE_URL: db.url,
        SENDGRID_BASE_URL: provider.url,
        ...(redis ? { REDIS_URL: redis.url } : {}),
      });
    });
    afterEach(async () => {
      await pipeline?.stop();
      pipeline = undefined;
      await provider.stop();
      await redis?.stop('SIGKILL');
      await db.drop();
    });
    const sent = async (count: number) => (await countStates(db.database, tenant.tenantid))['sent'] === count;

    it('a worker killed while it sends: its deliveries move on, each second send is accounted for', async () => {
      pipeline = await startPipeline(db.database, await pipelineConfig(backend, env), { workers: 0 });
      const doomed = await forkWorker(env);
      provider.behave = () => ({ kind: 'slow', ms: 300 });
      await writeEvents(db.database, tenant, 60);
      await waitFor('emails on their way', () => provider.calls.length >= 20);
      doomed.kill('SIGKILL');
      await once(doomed, 'exit');
      provider.behave = () => ({ kind: 'accept' });
      const next = await forkWorker(env);
      await waitFor('all emails', () => sent(60));
      await expectAccounted(db, provider, tenant, 60);
      next.kill('SIGKILL');
    });

    it('a worker stopped before it sends, and resumed after its lease: fenced before HTTP', async () => {
      pipeline = await startPipeline(db.database, await pipelineConfig(backend, env), { workers: 0 });
      const stopped = await forkWorker({ ...env, STOPS_BEFORE_HTTP: 'yes' });
      await writeEvents(db.database, tenant, 1);
      const isSending = async () => (await countStates(db.database, tenant.tenantid))['sending'] === 1;
      await waitFor('the start of the first attempt', isSending);
      const next = await forkWorker(env);
      await waitFor('the email, by a second attempt', () => sent(1));
      stopped.kill('SIGCONT');
      // It ends once it has done what it had in hand.
      stopped.kill('SIGTERM');
      await once(stopped, 'exit');
      expect(provider.calls).to.have.length(1);
      next.kill('SIGKILL');
    });

    it('a worker stopped while it sends, and resumed after its lease: each second send is accounted for', async () => {
      pipeline = await startPipeline(db.database, await pipelineConfig(backend, env), { workers: 0 });
      const stopped = await forkWorker(env);
      await writeEvents(db.database, tenant, 1);
      await waitFor('a first email', () => sent(1));
      await writeEvents(db.database, tenant, 200);
      await waitFor('emails on their way', () => provider.calls.length > 5);
      stopped.kill('SIGSTOP');
      const next = await forkWorker(env);
      await waitFor('all emails', () => sent(201));
      stopped.kill('SIGCONT');
      // It ends once it has done what it had in hand.
      stopped.kill('SIGTERM');
      await once(stopped, 'exit');
      await expectAccounted(db, provider, tenant, 201);
      next.kill('SIGKILL');
    });

    it('PostgreSQL ends every connection now and then: nothing is lost, no process ends', async () => {
      // On a busy machine a response that is merely late would be sent again, and that again.
      const patient = await pipelineConfig(backend, { ...env, SEND_DEADLINE_MS: '5000' });
      pipeline = await startPipeline(db.database, patient, { relays: 2, workers: 2 });
      let written = 0;
      for (let round = 0; round < 8; round++) {
        await writeEvents(db.database, tenant, 50);
        written += 50;
        await new Promise((resolve) => setTimeout(resolve, 100));
        await db.database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity
            where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`,
        );
      }
      await waitFor('all emails', () => sent(written), { timeoutMs: 300_000 });
      await expectAccounted(db, provider, tenant, written);
    });

    if (backend === 'redis') {
      it('Redis is wiped under load: everything is sent once', async () => {
        pipeline = await startPipeline(db.database, await pipelineConfig(backend, env), {
          relays: 2,
          workers: 1,
        });
        provider.behave = () => ({ kind: 'slow', ms: 20 });
        await writeEvents(db.database, tenant, 500);
        await waitFor('the load', () => provider.calls.length > 50);
        await redis!.stop('SIGKILL');
        redis = await startRedis(redis!.port);
        await writeEvents(db.database, tenant, 100);
        await waitFor('all emails', () => sent(600));
        await expectAccounted(db, provider, tenant, 600);
      });

      it('Redis is away: events are kept, and sent when it is back', async () => {
        pipeline = await startPipeline(db.database, await pipelineConfig(backend, env));
        const { port } = redis!;
        await redis!.stop('SIGKILL');
        await writeEvents(db.database, tenant, 20);
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        expect(provider.calls).to.deep.equal([]);
        redis = await startRedis(port);
        await waitFor('all emails', () => sent(20));
        await expectAccounted(db, provider, tenant, 20);
      });
    }
  });
}

import { expect } from 'chai';
import { createTemplatePool, type RenderOutcome, type TemplateJob, type TemplatePool } from 'rowpost-jinja2';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  startPipeline,
  writeEvents,
} from '../../delivery/pipelineSetup.js';
import { startFakeProvider } from '../../support/fakeProvider.js';
import { createTestDatabase } from '../../support/testDatabase.js';
import { waitFor } from '../../support/waitFor.js';

const SLOW_MS = 400;
const UNBOUNDED = { steps: Number.MAX_SAFE_INTEGER, allocations: Number.MAX_SAFE_INTEGER };
const ENDLESS = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}';
const LETTER = 'Dear {{ name }}';

/** An email whose template takes all the time that it may have. */
const slow = (tenantid: number): TemplateJob => job(tenantid, ENDLESS, 'jinja2');
const quick = (tenantid: number): TemplateJob => job(tenantid, LETTER, 'liquid');
function job(tenantid: number, source: string, syntax: 'jinja2' | 'liquid'): TemplateJob {
  return {
    tenantid,
    contextJson: '{"name":"Ada"}',
    templates: [{ name: 't', source, syntax, mode: 'text' }],
  };
}

describe('attack: templates that use their full time limit', () => {
  describe('in the processes', () => {
    let pool: TemplatePool;
    const open = (processes: number): TemplatePool =>
      (pool = createTemplatePool({ processes, limits: { ...UNBOUNDED, timeMs: SLOW_MS } }));
    afterEach(() => pool.close());

    /** Renders for tenants 1, 2, …, all at once. @returns how many have ended, as it goes on */
    const flood = (tenants: number, jobs: number): { ended: number; all: Promise<unknown> } => {
      const state = { ended: 0, all: Promise.resolve() as Promise<unknown> };
      const renders = Array.from({ length: tenants * jobs }, async (_, index) => {
        await pool.render(slow(1 + (index % tenants)));
        state.ended += 1;
      });
      state.all = Promise.all(renders);
      return state;
    };
    const OTHER = 99;
    const succeed = (outcomes: readonly RenderOutcome[]): void => {
      expect(outcomes).to.deep.equal([{ ok: true, output: 'Dear Ada' }]);
    };

    it('hold up their own tenant only: emails of others overtake its backlog', async () => {
      open(2);
      const { all, ...begun } = flood(1, 8);
      expect(begun.ended).to.equal(0);
      for (let i = 0; i < 10; i++) succeed(await pool.render(quick(OTHER)));
      let left = true;
      void all.then(() => (left = false));
      await Promise.resolve();
      expect(left, 'the backlog is still there').to.equal(true);
      await all;
    });

    it('never take the last process for more than one job per tenant', async () => {
      open(3);
      const backlog = flood(4, 6);
      await waitFor('each tenant to be known as slow', () => backlog.ended >= 4);
      // Each process has compiled the letter: what it takes from now on is what it takes.
      for (let i = 0; i < 4; i++) succeed(await pool.render(quick(OTHER)));
      const before = backlog.ended;
      const startedAtMs = performance.now();
      for (let i = 0; i < 20; i++) succeed(await pool.render(quick(OTHER)));
      const tookMs = performance.now() - startedAtMs;
      // Two processes end a slow one each 400 ms: twenty letters waited for none of them.
      expect(backlog.ended - before, `in ${tookMs} ms`).to.be.at.most(2 + (2 * tookMs) / SLOW_MS);
      expect(backlog.ended, 'the backlog is still there').to.be.below(24);
      await backlog.all;
    });

    it('with a single process hold up others for one job at most', async () => {
      open(1);
      const backlog = flood(1, 6);
      await waitFor('the backlog to have begun', () => backlog.ended >= 1);
      for (const at of [1, 2, 3]) {
        const before = backlog.ended;
        succeed(await pool.render(quick(OTHER)));
        expect(backlog.ended - before, `letter ${at}`).to.be.at.most(1);
      }
      await backlog.all;
    });
  });

  it('are rendered once: work in flight is not redelivered while its worker is alive', async () => {
    const EVENTS = 40;
    const db = await createTestDatabase();
    const provider = await startFakeProvider();
    const rendered: (number | undefined)[] = [];
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const templates = {
      render: async ({ templates: requests, tenantid }: TemplateJob): Promise<RenderOutcome[]> => {
        rendered.push(tenantid);
        await released;
        return requests.map(({ source }) => ({ ok: true, output: source }));
      },
    };
    // No machine stalls a worker for so long that its leases run out.
    const config = await pipelineConfig('postgres', { SENDGRID_BASE_URL: provider.url, LEASE_MS: '120000' });
    const pipeline = await startPipeline(db.database, config, { workers: 2, templates });
    try {
      const tenant = await createTenant(db.database);
      await createRule(db.database, tenant);
      await writeEvents(db.database, tenant, EVENTS);
      const sweeps = async (): Promise<number> => {
        const { rows } = await db.database.pool.query<{ count: number }>(
          'select max(sweepid)::int as count from rowpost.delivery_sweep',
        );
        return rows[0]!.count;
      };
      // Until a lease is on record, a worker that the machine stalls for a second may be taken for a dead one.
      const leased = async (): Promise<number> => {
        const { rows } = await db.database.pool.query<{ count: number }>(
          `select count(*)::int as count from rowpost.delivery where tracked and due > now() + interval '60 s'`,
        );
        return rows[0]!.count;
      };
      await waitFor('leases on all emails', async () => (await leased()) === EVENTS);
      const [composed, before] = [rendered.length, await sweeps()];
      expect(composed).to.be.above(0);
      await waitFor('the relay to have looked four times', async () => (await sweeps()) >= before + 4);
      // Half of a worker's slots at most are composed: the others wait for theirs, and are not given out again either.
      expect(rendered).to.have.length(composed);
      release();
      await waitFor(
        'all emails',
        async () => (await countStates(db.database, tenant.tenantid))['sent'] === EVENTS,
      );
      expect(new Set(rendered)).to.deep.equal(new Set([tenant.tenantid]));
      expect(provider.calls).to.have.length(EVENTS);
    } finally {
      release();
      await pipeline.stop();
      await provider.stop();
      await db.drop();
    }
  });
});

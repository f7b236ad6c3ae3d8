import { expect } from 'chai';
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitFor } from '../../../../test/support/waitFor.js';
import { createTemplatePool } from '../../src/index.js';
import type { RenderOutcome, TemplatePool, TemplateRequest } from '../../src/index.js';

/** Limits that let a template run into the process's own. */
const UNLIMITED = { steps: Number.MAX_SAFE_INTEGER, allocations: Number.MAX_SAFE_INTEGER, timeMs: 600_000 };
const ENDLESS = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}';
const GREEDY =
  "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set _ = ns.l.append(('x' * 2000 ~ i)|upper) %}{% endfor %}";
const LONG = "{{ 'y' * 200000 }}";

const request = (source: string): TemplateRequest => ({
  name: 't',
  source,
  syntax: 'jinja2',
  mode: 'text',
});
const ordinary = [request('{{ i }}')];
const render = (pool: TemplatePool, i: number): Promise<RenderOutcome[]> =>
  pool.render({ contextJson: `{"i":${i}}`, templates: ordinary });
const hostile = async (pool: TemplatePool, source: string): Promise<RenderOutcome | undefined> =>
  (await pool.render({ contextJson: '{}', templates: [request(source)] }))[0];
const outputs = (all: readonly RenderOutcome[][]): readonly string[] =>
  all.map(([outcome]) => (outcome?.ok === true ? outcome.output : 'failed'));
const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, i) => i);

describe('templates: grouped jobs', () => {
  const pools: TemplatePool[] = [];
  const open = (processes: number, deadlineMs = 400): TemplatePool => {
    const pool = createTemplatePool({ processes, limits: UNLIMITED, deadlineMs, maxOldGenerationMb: 48 });
    pools.push(pool);
    return pool;
  };

  afterEach(async () => {
    await Promise.all(pools.splice(0).map((pool) => pool.close()));
  });

  for (const processes of [1, 2]) {
    for (const [what, source, message] of [
      ['runs too long', ENDLESS, /took longer than 400 ms/],
      ['takes too much memory', GREEDY, /out of memory|took longer/],
    ] as const) {
      it(`fails only the job of a group that ${what}, on ${processes} process(es)`, async () => {
        const pool = open(processes);
        await render(pool, 0);
        const all = await Promise.all([
          ...numbers(5).map((i) => render(pool, i)),
          hostile(pool, source),
          ...numbers(25).map((i) => render(pool, 5 + i)),
        ]);
        const [ended] = all.splice(5, 1);
        expect(ended).to.have.nested.property('error.message').that.matches(message);
        expect(outputs(all as RenderOutcome[][])).to.deep.equal(numbers(30).map(String));
      });
    }
  }

  it('fails no job because the event loop was blocked past the deadline', async () => {
    const pool = open(1, 300);
    await render(pool, 0);
    const first = render(pool, 1);
    await immediate();
    const others = [2, 3, 4].map((i) => render(pool, i));
    const until = performance.now() + 500;
    while (performance.now() < until);
    expect(outputs(await Promise.all([first, ...others]))).to.deep.equal(['1', '2', '3', '4']);
  });

  it('fails no job because the whole process was suspended', async () => {
    const child = fork(fileURLToPath(new URL('../stoppedRenderer.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx'],
    });
    await once(child, 'message');
    const outcome = once(child, 'message');
    await delay(50);
    child.kill('SIGSTOP');
    await delay(2_000);
    child.kill('SIGCONT');
    expect((await outcome)[0]).to.deep.equal({ ok: true, output: 'done' });
    child.kill('SIGKILL');
  });

  it('leaves no process behind when the service is killed', async () => {
    const child = fork(fileURLToPath(new URL('../stoppedRenderer.ts', import.meta.url)), {
      execArgv: ['--import', 'tsx'],
    });
    await once(child, 'message');
    // Files about processes are Linux's.
    const renderers = (await readFile(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8'))
      .trim()
      .split(' ');
    child.kill('SIGKILL');
    expect(renderers).to.have.length.above(0);
    for (const pid of renderers) await waitFor('its end', () => !existsSync(`/proc/${pid}`));
  });

  it('moves a group on to a free process past its slow job', async () => {
    const pool = open(2, 600_000);
    await render(pool, 0);
    // Four seconds of CPU time: ten times what the other process needs to start, which it may still do.
    const slow = hostile(pool, ENDLESS.replaceAll('100000', '15000'));
    let isSlowDone = false;
    void slow.then(() => (isSlowDone = true));
    await Promise.all(numbers(10).map((i) => render(pool, i)));
    expect(isSlowDone).to.equal(false);
    expect(await slow).to.have.property('ok', true);
  });

  it('terminates each hostile job of a group in turn', async () => {
    const pool = open(2, 200);
    const [first, second, third, ...others] = await Promise.all([
      hostile(pool, ENDLESS),
      hostile(pool, ENDLESS),
      hostile(pool, GREEDY),
      ...numbers(4).map((i) => render(pool, i)),
    ]);
    for (const outcome of [first, second, third]) {
      expect(outcome).to.have.nested.property('error.kind', 'limit');
    }
    expect(outputs(others)).to.deep.equal(['0', '1', '2', '3']);
  });

  it('applies the deadline to each job, not to the group', async () => {
    const pool = open(1, 400);
    const slow = '{% for i in range(400) %}{% for j in range(400) %}{% endfor %}{% endfor %}ok';
    const all = await Promise.all(numbers(16).map(() => hostile(pool, slow)));
    expect(all.map((outcome) => outcome?.ok)).to.deep.equal(numbers(16).map(() => true));
  });

  it("keeps long outputs of other jobs out of a job's memory limit", async () => {
    const pool = open(1, 20_000);
    const all = await Promise.all(numbers(300).map(() => hostile(pool, LONG)));
    expect(all.every((outcome) => outcome?.ok === true && outcome.output.length === 200_000)).to.equal(true);
  });

  it('fails only a job whose context is too large for a process', async () => {
    const pool = open(1, 30_000);
    await render(pool, 0);
    const huge = `{"list":[${'{"a":1},'.repeat(1_500_000)}0]}`;
    const [[ended], ...others] = await Promise.all([
      pool.render({ contextJson: huge, templates: [request('{{ list|length }}')] }),
      render(pool, 1),
      render(pool, 2),
    ]);
    expect(ended).to.have.nested.property('error.message').that.includes('too large');
    expect(outputs(others)).to.deep.equal(['1', '2']);
  });

  it('drains accepted work under load when closing, and accepts no more', async () => {
    const pool = open(2);
    const given = numbers(200).map((i) => render(pool, i));
    const doomed = hostile(pool, ENDLESS);
    const closed = pool.close();
    const late = render(pool, 1).then(
      () => 'rendered',
      (error: unknown) => String(error),
    );
    expect(outputs(await Promise.all(given))).to.deep.equal(numbers(200).map(String));
    expect(await doomed).to.have.nested.property('error.kind', 'limit');
    expect(await late).to.match(/pool is closed/);
    await closed;
  });

  it('rejects on errors other than the template’s, and continues', async () => {
    const pool = open(1);
    const source = 5 as unknown as string;
    const bug = await pool.render({ contextJson: '{}', templates: [request(source)] }).then(
      (outcomes) => JSON.stringify(outcomes),
      (error: unknown) => String(error),
    );
    expect(bug).to.match(/^TypeError/);
    expect(outputs([await render(pool, 7)])).to.deep.equal(['7']);
  });

  it('closes immediately when never used', async () => {
    const pool = open(2);
    await Promise.race([
      pool.close(),
      delay(20_000, undefined, { ref: false }).then(() => Promise.reject(new Error('it did not close'))),
    ]);
  });
});

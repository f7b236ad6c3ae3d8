import { expect } from 'chai';
import { createTemplatePool } from '../src/index.js';
import type { TemplatePool, TemplateRequest } from '../src/index.js';

const request = (name: string, source: string): TemplateRequest => ({
  name,
  source,
  syntax: 'jinja2',
  mode: 'text',
});

/** Limits that let a template run into the process's own. */
const UNLIMITED = { steps: Number.MAX_SAFE_INTEGER, allocations: Number.MAX_SAFE_INTEGER, timeMs: 600_000 };
const ENDLESS = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}';
const GREEDY =
  "{% set ns = namespace(l=[]) %}{% for i in range(100000) %}{% set _ = ns.l.append(('x' * 2000 ~ i)|upper) %}{% endfor %}";

describe('templates: the render processes', () => {
  let pool: TemplatePool;

  before(() => {
    pool = createTemplatePool({ processes: 2, limits: UNLIMITED, deadlineMs: 400, maxOldGenerationMb: 48 });
  });
  after(() => pool.close());

  it('renders all templates of a job with one context', async () => {
    const templates = [
      request('subject', 'Order {{ id }}: {{ total }}'),
      request('changes', '{% set _ = list.append(3) %}{{ list }}'),
      request('reads', '{{ list }}'),
      { name: 'filter', source: "name = '{{ name }}'", syntax: 'liquid', mode: 'filter' } as const,
    ];
    const outcomes = await pool.render({
      contextJson: '{"id":1,"total":10.0,"list":[1,2],"name":"o\'x"}',
      templates,
    });
    expect(outcomes).to.deep.equal([
      { ok: true, output: 'Order 1: 10.0' },
      { ok: true, output: '[1, 2, 3]' },
      { ok: true, output: '[1, 2]' },
      { ok: true, output: "name = 'o\\'x'" },
    ]);
  });

  it('reports each failing template by name', async () => {
    const [broken, fine] = await pool.render({
      contextJson: '{}',
      templates: [request('subject', '{{ x.y }}'), request('body', 'ok')],
    });
    expect(broken).to.have.property('ok', false);
    expect(broken).to.have.deep.nested.property('error', {
      name: 'subject',
      kind: 'render',
      message: "'x' is undefined",
      line: 1,
      column: 5,
      sourceLine: '{{ x.y }}',
    });
    expect(fine).to.deep.equal({ ok: true, output: 'ok' });
  });

  it('checks templates without rendering them', async () => {
    const [fine, broken] = await pool.check({
      templates: [request('a', '{{ x.y }}'), request('b', '{{ x')],
    });
    expect(fine).to.deep.equal({
      ok: true,
      uses: { names: [], any: false },
      reads: [
        { path: ['x'], line: 1, column: 4, isMethod: false },
        { path: ['x', 'y'], line: 1, column: 5, isMethod: false },
      ],
    });
    expect(broken).to.have.nested.property('error.kind', 'syntax');
  });

  for (const [what, source, message] of [
    ['runs too long', ENDLESS, /took longer than 400 ms/],
    ['takes too much memory', GREEDY, /out of memory|took longer/],
  ] as const) {
    it(`ends the process of a job that ${what}, and no other`, async () => {
      const [ended, ...others] = await Promise.all([
        pool.render({ contextJson: '{}', templates: [request('hostile', source)] }),
        ...Array.from({ length: 6 }, (_, i) =>
          pool.render({ contextJson: `{"i":${i}}`, templates: [request('t', '{{ i|int }}')] }),
        ),
      ]);
      const [outcome] = ended;
      expect(outcome).to.have.nested.property('error.kind', 'limit');
      expect(outcome).to.have.nested.property('error.message').that.matches(message);
      expect(others.map(([other]) => other)).to.deep.equal(
        Array.from({ length: 6 }, (_, i) => ({ ok: true, output: String(i) })),
      );
    });
  }

  it('keeps all its processes afterwards', async () => {
    const jobs = Array.from({ length: 8 }, (_, i) =>
      pool.render({ contextJson: `{"i":${i}}`, templates: [request('t', '{{ i|int }}')] }),
    );
    expect((await Promise.all(jobs)).map(([outcome]) => outcome?.ok)).to.deep.equal(
      Array.from({ length: 8 }, () => true),
    );
  });
});

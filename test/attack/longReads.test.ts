import { expect } from 'chai';
import { createTemplatePool, type TemplatePool } from 'rowpost-jinja2';

const TEMPLATE = { syntax: 'jinja2', mode: 'html' } as const;

/** What a render process says of checked templates was counted in nothing: two checks at a time ended the web process. */
describe('attack: what checks of templates return', () => {
  let pool: TemplatePool;
  before(() => {
    pool = createTemplatePool();
  });
  after(() => pool.close());

  it('names no more values than an email has, however long assignments make their paths', async () => {
    const source = `{% set a = x.bc %}${'{% set a=a.bc %}'.repeat(1_000)}{{ y.z }}`;
    const templates = Array.from({ length: 3 }, (_, n) => ({ ...TEMPLATE, name: `t${n}`, source }));
    const outcomes = await pool.check({ templates });
    const reads = outcomes.flatMap((outcome) => (outcome.ok ? outcome.reads : []));
    expect(outcomes.map(({ ok }) => ok)).to.deep.equal([true, true, true]);
    expect(reads.reduce((sum, { path }) => sum + path.length, 0)).to.be.within(1_000, 50_000);
    expect(Math.max(...reads.map(({ path }) => path.length))).to.be.at.most(100);
    expect(reads.map(({ path }) => path.join('.'))).to.include('y.z');
  });

  it('repeats no long name of a layout for each template', async () => {
    const name = 'x'.repeat(100_000);
    const layouts = { l: `{% block ${name} required %}{% endblock %}` };
    const templates = Array.from({ length: 100 }, (_, n) => ({
      ...TEMPLATE,
      name: `t${n}`,
      source: '{% extends "l" %}',
    }));
    const outcomes = await pool.check({ layouts, templates });
    expect(JSON.stringify(outcomes)).to.include("Required block 'xxx");
    expect(JSON.stringify(outcomes).length).to.be.below(200_000);
  });
});

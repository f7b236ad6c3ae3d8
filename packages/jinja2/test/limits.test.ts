import { expect } from 'chai';
import { compileTemplate, DEFAULT_LIMITS, TemplateError } from '../src/index.js';
import type { Syntax, TemplateLimits } from '../src/index.js';

interface LimitCase {
  readonly limits: Partial<TemplateLimits>;
  /** Renders within the default limits, and not within these. */
  readonly template: string;
  readonly syntax?: Syntax;
}

const CASES: LimitCase[] = [
  { limits: { sourceLength: 20 }, template: 'a template of more than that' },
  { limits: { nesting: 5 }, template: '{{ ((((((1)))))) }}' },
  {
    limits: { nesting: 3 },
    template: '{% if 1 %}{% if 1 %}{% if 1 %}{% if 1 %}x{% endif %}{% endif %}{% endif %}{% endif %}',
  },
  { limits: { nodes: 10 }, template: '{{ 1 }}{{ 2 }}{{ 3 }}{{ 4 }}{{ 5 }}{{ 6 }}' },
  { limits: { steps: 500 }, template: '{% for i in range(1000) %}{% endfor %}' },
  { limits: { allocations: 500 }, template: "{{ 'x' * 1000 }}" },
  { limits: { allocations: 500 }, template: '{{ [0] * 1000 }}' },
  { limits: { outputLength: 100 }, template: '{% for i in range(100) %}xx{% endfor %}' },
  {
    limits: { outputLength: 100 },
    template: '{% set t %}{% for i in range(100) %}xx{% endfor %}{% endset %}',
  },
  { limits: { range: 10 }, template: '{{ range(11)|length }}' },
  {
    limits: { callDepth: 5 },
    template: '{% macro m(n) %}{% if n %}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(10) }}',
  },
  { limits: { formatWidth: 50 }, template: "{{ '%60d' % 1 }}" },
  { limits: { formatWidth: 50 }, template: "{{ 'x'|center(60) }}" },
  { limits: { steps: 500 }, template: '{% for i in (1..1000) %}{% endfor %}', syntax: 'liquid' },
  { limits: { outputLength: 100 }, template: '{% for i in (1..100) %}xx{% endfor %}', syntax: 'liquid' },
  {
    limits: { outputLength: 100 },
    template: '{% capture t %}{% for i in (1..100) %}xx{% endfor %}{% endcapture %}',
    syntax: 'liquid',
  },
  {
    limits: { allocations: 500 },
    template: "{% assign t = 'x' %}{% for i in (1..10) %}{% assign t = t | append: t %}{% endfor %}",
    syntax: 'liquid',
  },
  {
    limits: { nesting: 2 },
    template: '{% if 1 %}{% if 1 %}{% if 1 %}x{% endif %}{% endif %}{% endif %}',
    syntax: 'liquid',
  },
];

function failure(action: () => unknown): TemplateError {
  try {
    action();
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error('nothing failed');
}

describe('templates: limits', () => {
  for (const { limits, template, syntax = 'jinja2' } of CASES) {
    it(`${JSON.stringify(limits)} stops ${syntax} ${template}`, () => {
      compileTemplate(template, { syntax }).render({});
      const error = failure(() => compileTemplate(template, { syntax, limits }).render({}));
      expect(error.kind).to.equal('limit');
      expect(error.line).to.equal(1);
    });
  }

  for (const [syntax, template] of [
    ['jinja2', '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}'],
    ['liquid', '{% for i in (1..100000) %}{% for j in (1..1000) %}{% endfor %}{% endfor %}'],
  ] as const) {
    it(`timeMs stops ${syntax} by the clock`, () => {
      const limits = { timeMs: 20, steps: Number.MAX_SAFE_INTEGER, allocations: Number.MAX_SAFE_INTEGER };
      const error = failure(() => compileTemplate(template, { syntax, limits }).render({}));
      expect(error).to.include({ kind: 'limit', message: 'the template takes too long (limit 20 ms)' });
    });
  }

  it('apply per render, not per template', () => {
    const template = compileTemplate('{% for i in range(50) %}x{% endfor %}', { limits: { steps: 300 } });
    for (let i = 0; i < 20; i++) expect(template.render({})).to.have.length(50);
  });

  it('suffice for a 300-item page', () => {
    const items = Array.from({ length: 300 }, (_, i) => ({ name: `item ${i}`, price: i / 4 }));
    const page = compileTemplate(
      "{% for i in items|sort(attribute='name') %}{{ i.name|upper }} {{ '%.2f'|format(i.price) }}\n{% endfor %}",
      { limits: DEFAULT_LIMITS },
    );
    expect(page.render({ items }).split('\n')).to.have.length(301);
  });
});

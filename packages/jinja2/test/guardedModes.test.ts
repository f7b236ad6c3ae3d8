import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';
import type { OutputMode, Syntax } from '../src/index.js';

function render(
  mode: OutputMode,
  source: string,
  context: Record<string, unknown>,
  syntax: Syntax = 'jinja2',
): string {
  return compileTemplate(source, { mode, syntax }).render(context);
}

describe('templates: injection-safe filters', () => {
  const filter = (source: string, context: Record<string, unknown> = {}) => render('filter', source, context);

  it('keep a value within its quotes, single or double', () => {
    const x = `o'x" or 1=1 \\`;
    expect(filter("a = '{{ x }}'", { x })).to.equal(`a = 'o\\'x\\" or 1=1 \\\\'`);
    expect(filter('a = "{{ x }}"', { x })).to.equal(`a = "o\\'x\\" or 1=1 \\\\"`);
  });

  it('accept numbers, booleans, null and lists outside quotes', () => {
    const context = { id: 5, total: 2.5, ok: true, none: null, ids: [1, 2], names: ["a'b", 'c'], key: '17' };
    expect(filter('{{ id }} {{ total }} {{ ok }} {{ none }} {{ key }}', context)).to.equal(
      '5 2.5 true null 17',
    );
    expect(filter('id in {{ ids }} or name in {{ names }}', context)).to.equal(
      "id in [1, 2] or name in ['a\\'b', 'c']",
    );
  });

  it('reject anything else outside quotes', () => {
    const context = { text: '1 or true', dict: { a: 1 } };
    for (const source of ['a = {{ text }}', 'a = {{ missing }}', 'a = {{ dict }}', 'a = {{ text|safe }}']) {
      expect(() => filter(source, context), source).to.throw(TemplateError);
    }
  });

  it('reject values adjacent to a name or another value', () => {
    const context = { n: 1 };
    for (const source of ['a{{ n }} = 1', '{{ n }}a', '{{ n }}{{ n }}', '1{{ n }}']) {
      expect(() => filter(source, context), source).to.throw(TemplateError);
    }
    expect(filter('a = 3 -{{ n }}', { n: -1 })).to.equal('a = 3 - -1');
  });

  it('apply the same rules to values from macros, blocks and filters', () => {
    const context = { x: "' or '1'='1" };
    const escaped = "\\' or \\'1\\'=\\'1";
    expect(filter("{% macro m() %}{{ x }}{% endmacro %}a = '{{ m() }}'", context)).to.equal(
      `a = '${escaped}'`,
    );
    expect(filter("{% set b %}{{ x }}{% endset %}a = '{{ b|safe }}'", context)).to.equal(`a = '${escaped}'`);
    expect(filter("a = '{% filter trim %}{{ x }}{% endfilter %}'", context)).to.equal(`a = '${escaped}'`);
    expect(() => filter("{% macro m() %}a = '{{ x }}'{% endmacro %}{{ m() }}", context)).to.throw(
      TemplateError,
    );
    expect(() => filter("a = '\\{{ x }}'", context)).to.throw(TemplateError, /backslash/);
  });

  it('may be built with conditions and loops', () => {
    const source = "{% for s in states %}status = '{{ s }}'{% if not loop.last %} or {% endif %}{% endfor %}";
    expect(filter(source, { states: ['paid', "o'k"] })).to.equal("status = 'paid' or status = 'o\\'k'");
  });

  it('work the same in Liquid', () => {
    const x = "' or 1=1";
    expect(render('filter', "a = '{{ x }}' and b = {{ n }}", { x, n: 3 }, 'liquid')).to.equal(
      "a = '\\' or 1=1' and b = 3",
    );
    expect(() => render('filter', 'a = {{ x | raw }}', { x }, 'liquid')).to.throw(TemplateError);
    expect(() => render('filter', 'a = {% cycle x, x %}', { x }, 'liquid')).to.throw(TemplateError);
  });
});

describe('templates: injection-safe JSON', () => {
  const json = (source: string, context: Record<string, unknown>) =>
    JSON.parse(render('json', source, context)) as unknown;

  it('keep a value within its string', () => {
    const a = 'a@x.io", "evil@x.io';
    expect(json('["{{ a }}", "b@x.io"]', { a })).to.deep.equal([a, 'b@x.io']);
    expect(json('["{{ a }}"]', { a: 'line\nbreak\\' })).to.deep.equal(['line\nbreak\\']);
  });

  it('write values outside strings as JSON', () => {
    const context = { a: 'x"', list: ['p', 1, null], d: { k: [true] } };
    expect(json('[{{ a }}, {{ list }}, {{ d }}]', context)).to.deep.equal([
      'x"',
      ['p', 1, null],
      { k: [true] },
    ]);
    expect(json('{{ list|tojson }}', context)).to.deep.equal(['p', 1, null]);
  });

  it('do not parse text as JSON', () => {
    expect(json('[{{ a }}]', { a: '1, 2' })).to.deep.equal(['1, 2']);
    expect(json('[{{ a|safe }}]', { a: '1, 2' })).to.deep.equal(['1, 2']);
    expect(() => json('[{{ missing }}]', {})).to.throw(TemplateError);
    expect(() => json('[1{{ n }}]', { n: 2 })).to.throw(TemplateError);
  });

  it('refuse numbers that JSON does not have', () => {
    for (const x of ['1e400', '-1e400', '1e400 - 1e400']) {
      expect(() => render('json', `[{{ ${x} }}]`, {}), x).to.throw(TemplateError);
      expect(() => render('addressList', `{{ [${x}]|tojson }}`, {}), x).to.throw(TemplateError);
    }
  });
});

import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';

describe('templates: compileTemplate', () => {
  it('keeps the types of JSON values', () => {
    const template = compileTemplate('{{ a }} {{ b }} {{ c }} {{ a / 4 }} {{ d }} {{ e }}');
    const context =
      '{"a": 10.0, "b": 10, "c": 12345678901234567890, "d": {"2": 1e3, "1": -0.0}, "e": "\\u00e9 10.0"}';
    expect(template.renderJson(context)).to.equal(
      "10.0 10 12345678901234567890 2.5 {'2': 1000.0, '1': -0.0} é 10.0",
    );
  });

  it('supports the rest of Jinja2', () => {
    const cases: readonly (readonly [template: string, expected: string])[] = [
      ['{{ "1e10000"|int }} {{ "1e10000"|int(7) }} {{ "inf"|int }}', '0 7 0'],
      [
        '{% if True %}{{ a.b }}{% set a = 1 %}{% elif False %}{% set a = 2 %}{% else %}{% set a = 3 %}{% endif %}{{ a }}',
        '51',
      ],
      [
        "{% macro lower(x) %}{{ x|lower }}{% endmacro %}{% set l = ['b', 'A', 'c'] %}{% set _ = l.sort(key=lower, reverse=true) %}{{ l }}",
        "['c', 'b', 'A']",
      ],
      ["{{ 'hello'.translate({101: 'E', 108: none, 111: 48}) }}", 'hE0'],
      [
        "{{ 'hello'.translate('x'.maketrans('el', 'ip', 'o')) }} {{ 'x'.maketrans({'a': 'b'}) }}",
        "hipp {97: 'b'}",
      ],
      [
        '{{ (10).bit_length() }} {{ (-11).bit_count() }} {{ true.conjugate() }} {{ (7).as_integer_ratio() }}',
        '4 3 1 (7, 1)',
      ],
      [
        '{{ 2.5.is_integer() }} {{ 2.0.is_integer() }} {{ 0.1.hex() }} {{ 0.75.as_integer_ratio() }}',
        'False True 0x1.999999999999ap-4 (3, 4)',
      ],
      [
        '{% set ns = namespace(n=1) %}{% for i in [2, 3] %}{% set ns.n, last = ns.n + i, i %}{% endfor %}{{ ns.n }}{{ last }}',
        '6',
      ],
      ["{{ ('<b>{x}</b>{y}'|safe).format_map({'x': '<i>', 'y': '<hr>'|safe}) }}", '<b>&lt;i&gt;</b><hr>'],
    ];
    for (const [template, expected] of cases) {
      expect(compileTemplate(template).render({ a: { b: 5 } }), template).to.equal(expected);
    }
  });

  it('fails where Jinja2 fails, with the same message', () => {
    const looking = 'Jinja was looking for the following tags';
    const cases: readonly (readonly [template: string, message: string])[] = [
      ['{% for x in y %}{% endif %}', `Encountered unknown tag 'endif'. ${looking}: 'endfor' or 'else'.`],
      ['{% for x in y %}', `Unexpected end of template. ${looking}: 'endfor' or 'else'.`],
      [
        '{% if x %}{% for x in y %}{% endif %}',
        "You probably made a nesting mistake. Jinja is expecting this tag, but currently looking for 'endfor' or 'else'.",
      ],
      [
        '{% block a-b %}',
        'Block names in Jinja have to be valid Python identifiers and may not contain hyphens, use an underscore instead.',
      ],
      ['{% set (ns.a, b) = 1, 2 %}', "expected token ')', got '.'"],
      ['{% set true.a = 1 %}', "can't assign to 'const'"],
      ['{% set ns = {} %}{% set ns.a, b = 1, 2 %}', 'cannot assign attribute on non-namespace object'],
      ['{{ dict(missing) }}', "'missing' is undefined"],
    ];
    for (const [template, message] of cases) {
      expect(() => compileTemplate(template).render({}), template).to.throw(TemplateError, message);
    }
  });

  it('rejects a context that is not a JSON object', () => {
    for (const text of ['', '[1]', '{"a":1.0', '{"a":1.0}x', '{"a":01.0}', '"x"', '{"a": .0e}']) {
      expect(() => compileTemplate('x').renderJson(text), text).to.throw(TemplateError, /context/);
    }
  });

  it('leaves the context unchanged', () => {
    const context = { list: [1], dict: { a: 1 } };
    const template = compileTemplate(
      '{% set _ = list.append(2) %}{% set _ = dict.update({"b": 2}) %}{{ list }} {{ dict }}',
    );
    expect(template.render(context)).to.equal("[1, 2] {'a': 1, 'b': 2}");
    expect(template.render(context)).to.equal("[1, 2] {'a': 1, 'b': 2}");
    expect(context).to.deep.equal({ list: [1], dict: { a: 1 } });
    const disguised = compileTemplate("{{ list['app' ~ 'end'](2) }}");
    expect(() => disguised.render(context)).to.throw(TemplateError, /cannot be changed/);
  });

  it('reads own properties only', () => {
    class Row {
      id = 7;
      get secret(): string {
        return 'secret';
      }
    }
    expect(
      compileTemplate('[{{ row.id }}][{{ row.secret }}][{{ row.constructor }}]').render({ row: new Row() }),
    ).to.equal('[7][][]');
  });

  it('renders Liquid, escaped in HTML but not in text', () => {
    const source = '{% for x in xs %}{{ x | upcase }}{% unless forloop.last %}, {% endunless %}{% endfor %}';
    expect(compileTemplate(source, { syntax: 'liquid' }).render({ xs: ['a<', 'b'] })).to.equal('A<, B');
    expect(compileTemplate(source, { syntax: 'liquid', mode: 'html' }).render({ xs: ['a<', 'b'] })).to.equal(
      'A&lt;, B',
    );
  });

  it('locates errors in Liquid, and loads no other templates', () => {
    expect(() => compileTemplate('a\n{% if x %}', { syntax: 'liquid' }))
      .to.throw(TemplateError)
      .with.include({ kind: 'syntax', line: 2, column: 1 });
    for (const tag of ["{% include 'x' %}", "{% render 'x' %}", "{% layout 'x' %}"]) {
      expect(() => compileTemplate(tag, { syntax: 'liquid' }), tag).to.throw(TemplateError, /not found/);
    }
  });

  it("gives Jinja2 LiquidJS's date filter and limits", () => {
    const template = compileTemplate("{{ d|date('%d.%m.%Y') }} {{ 5|at_most(3) }} {{ 2.5|at_least(3.0) }}");
    expect(template.render({ d: '2026-03-09' })).to.equal('09.03.2026 3 3.0');
    expect(() => compileTemplate("{{ d|date('%9999Y') }}").render({ d: '2026-03-09' })).to.throw(
      TemplateError,
      /too wide/,
    );
  });

  it('scopes variables as Jinja2 does', () => {
    const cases: [template: string, output: string][] = [
      ['{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}', '231'],
      ['{% if y %}{% set x = 1 %}{% endif %}[{{ x }}]', '[ctx]'],
      ['{% macro m() %}{{ x }}{% endmacro %}{% set x = 1 %}{{ m() }}{% set x = 2 %}{{ m() }}', '12'],
      ['{% set x = 1 %}{% block b %}{{ x }}{% set x = 2 %}{% endblock %}{{ x }}', '11'],
      ['{% for i in [1] %}{% block b scoped %}{{ i }}{% endblock %}{% endfor %}', '1'],
    ];
    for (const [source, output] of cases) {
      expect(compileTemplate(source).render({ x: 'ctx', y: false }), source).to.equal(output);
    }
  });
});

import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';

function failure(source: string, context: Record<string, unknown> = {}): TemplateError {
  try {
    compileTemplate(source).render(context);
  } catch (error) {
    if (error instanceof TemplateError) return error;
    throw error;
  }
  throw new Error(`${source} did not fail`);
}

describe('templates: errors', () => {
  it('have kind, location and source line', () => {
    const error = failure('Hello\n  {{ name|nosuch }}!');
    expect(error.toJSON()).to.deep.equal({
      kind: 'syntax',
      message: "No filter named 'nosuch'.",
      line: 2,
      column: 11,
      sourceLine: '  {{ name|nosuch }}!',
    });
  });

  it('at rendering point at what failed', () => {
    const error = failure('{% for i in [1] %}\n{{ 1 + order.total.net }}{% endfor %}', { order: {} });
    expect(error).to.include({
      kind: 'render',
      line: 2,
      column: 19,
      message: "'dict object' has no attribute 'total'",
    });
  });

  it('count lines as editors do, with any line ending', () => {
    expect(failure('a\r\nb\r\n{{ x. }}').line).to.equal(3);
  });

  it('are the first of several', () => {
    const error = failure('{{ a b }}\n{{ "c }}');
    expect(error.message).to.equal("expected token 'end of print statement', got 'b'");
    expect(error.line).to.equal(1);
  });

  it('name an unclosed tag', () => {
    expect(failure('{% if x %}a').message).to.contain("'endif'").and.to.contain("'if'");
  });

  const hints: [template: string, hint: string][] = [
    ['{% assign x = 1 %}', 'set'],
    ['{% if a %}{% elsif b %}{% endif %}', 'elif'],
    ['{% unless a %}{% endunless %}', 'if not'],
    ['{{ price | round: 2 }}', '| name(x)'],
    ['{% if a contains b %}{% endif %}', 'in'],
    ['{% for i in [1] %}{{ forloop.index }}{% endfor %}', 'loop'],
    ['{{ a && b }}', 'and'],
    ["{{ [1]|sort('name') }}", 'attribute='],
    ['{{ x|downcase }}', 'lower'],
    ['{% render "x" %}', 'include'],
    ['{{ x|trunctae(3) }}', 'truncate'],
    ['{{ 1 is evn }}', 'even'],
    ['{{ x|currency }}', 'format_currency'],
    ['{{ "2026-11-24".strftime("%Y") }}', 'format_date'],
    ['{% if 1 = 1 %}{% endif %}', '=='],
    ['{% set x := 1 %}', '{% set name = value %}'],
    ['{% set x += 1 %}', '{% set name = value %}'],
    ['{% set d["a"] = 1 %}', 'update'],
    ['{{ x = 1 }}', '{% set name = value %}'],
    ['{% let x = 1 %}', '{% set name = value %}'],
    ['{{ {"a" = 1} }}', "':'"],
    ['{% with a: 1 %}{% endwith %}', "'='"],
    ['{{ a || b }}', "'or'"],
    ['{{ x|truncate 20 }}', '| name(x)'],
    ['{{ x|default "none" }}', '| name(x)'],
    ['{% if {{ x }} %}{% endif %}', 'without {{ }}'],
    ['{{ {{ x }} }}', 'without {{ }}'],
    ['{{ $name }}', 'without $'],
    ['{% foreach x in y %}{% endforeach %}', '{% for x in list %}'],
    ['{% for x in {"items": [1]}.items %}{% endfor %}', "x['name']"],
    ['{{ {"values": [1]}.values|length }}', "x['name']"],
    ['{{ a', '}}'],
    ['{{ a }', '}}'],
    ['{% if a }x{% endif %}', '%}'],
    ['{% if a', '%}'],
    ['{{ “a” }}', 'straight quotes'],
    ['<style>a{#b { color: red }</style>', 'CSS'],
    ['{{#each items}}{{/each}}', '{% for x in list %}'],
    ['{% trans %}Hello{% endtrans %}', 'one template for each language'],
    ['{{ _("Hello") }}', 'one template for each language'],
    ['{% for k, v in {"abc": 1} %}{% endfor %}', '.items()'],
    ['a\n{% for x in y %}\n{{ x }}\n', '{% for %} of line 2'],
    ['{% if a %}\n{% for x in y %}\n{% endif %}', '{% for %} of line 2'],
  ];
  for (const [template, hint] of hints) {
    it(`suggest the Jinja2 syntax: ${template}`, () => expect(failure(template).hint).to.contain(hint));
  }

  it('name the layouts that exist', () => {
    const layouts = { base: 'a', footer: 'b' };
    const check = (source: string) => (): void => compileTemplate(source, { layouts }).check();
    expect(check('{% extends "base.html" %}'))
      .to.throw(TemplateError)
      .with.property('hint', 'There are base, footer.');
    expect(check('{% include "foter" %}'))
      .to.throw(TemplateError)
      .with.property('hint', 'Did you mean "footer"?');
  });
});

import { expect } from 'chai';
import { createTemplatePool } from '../../src/templates/index.js';
import { DEFAULT_LIMITS } from '../../src/templates/limits.js';
import { InlineRenderer } from '../../src/templates/pool/inlineRenderer.js';
import type { TaskResult, TemplateRequest } from '../../src/templates/pool/templateJob.js';

const request = (source: string, mode: TemplateRequest['mode'] = 'html'): TemplateRequest => ({
  name: 'field',
  source,
  syntax: 'jinja2',
  mode,
});
const task = (source: string, contextJson = '{}') => ({ contextJson, templates: [request(source)] });
const outputs = (result: TaskResult | undefined): readonly string[] | undefined =>
  result && 'outcomes' in result
    ? result.outcomes.map((outcome) => (outcome.ok ? outcome.output : outcome.error.message))
    : undefined;

const LETTER = `<h1>{{ order.id }} is {{ order.status|upper }}</h1>
{% for item in order.lines %}{{ loop.index }}: {{ item.name|default('?') }} {{ '%.2f'|format(item.price) }}
{% else %}nothing{% endfor %}{% if order.total > 100 and not order.paid %}Thanks{% elif order.note is defined %}x{% endif %}`;
const order = (items: number): string =>
  JSON.stringify({
    order: { id: 7, status: 'new', total: 200, lines: Array(items).fill({ name: 'a<b', price: 1.5 }) },
  });

describe('templates: rendering in place, without a thread', () => {
  const runner = new InlineRenderer(DEFAULT_LIMITS);

  // What runs for the first time of all takes several times as long.
  before(() => {
    for (let i = 0; i < 50; i++) new InlineRenderer(DEFAULT_LIMITS).tryRun(task(LETTER, order(2)));
  });

  it('covers an ordinary email, and a filter with values', () => {
    expect(outputs(runner.tryRun(task(LETTER, order(2))))).to.deep.equal([
      '<h1>7 is NEW</h1>\n1: a&lt;b 1.50\n2: a&lt;b 1.50\nThanks',
    ]);
    const filter = request("order_id = {{ order.id }} and state = '{{ order.status }}'", 'filter');
    expect(outputs(runner.tryRun({ contextJson: order(1), templates: [filter, filter] }))).to.have.length(2);
  });

  it('allows no calls, computations or state', () => {
    for (const source of [
      '{{ range(9) }}',
      '{{ a.items() }}',
      '{{ 2 ** 9 }}',
      "{{ 'a' * 9 }}",
      "{{ 'a' ~ 'b' }}",
      '{{ [1, 2] }}',
      '{{ a|sort }}',
      '{{ a|map(attribute="b")|list }}',
      "{{ a|replace(*['a', 'b']) }}",
      '{% set a = 1 %}',
      '{% macro m() %}{% endmacro %}',
      '{% for a in b recursive %}{% endfor %}',
      '{% if a %}{{ b() }}{% endif %}',
      '{% for a in b() %}{% endfor %}',
      '{% for a in b if c() %}{% endfor %}',
      '{% for a in b %}{% else %}{{ c() }}{% endfor %}',
      '{% if a %}{% elif b() %}{% endif %}',
      '{{ a if b() else c }}',
      '{{ a[b()] }}',
      '{{ a is divisibleby(2) }}',
      '{{ a is odd }}',
      '{{ -a }}',
      '{{ a|int(0, 36) }}',
      '{{ a|int(default=1) }}',
      '{{ a|round(-4000) }}',
      '{{ a|round(b) }}',
      '{{ a|trim(a) }}',
      "{{ b|join('', 'c.d') }}",
      '{% block a %}{{ b() }}{% endblock %}',
      '{% include a %}',
      '{% import "a" as b %}',
      '{% filter upper %}a{% endfilter %}',
    ])
      expect(runner.tryRun(task(source, '{"a":"x","b":[]}')), source).to.equal(undefined);
  });

  it('leaves large, long, failing or non-Jinja2 templates to a thread', () => {
    expect(runner.tryRun(task(LETTER, order(300))), 'a long loop').to.equal(undefined);
    expect(runner.tryRun(task('x', JSON.stringify({ a: 'y'.repeat(8_000) }))), 'context').to.equal(undefined);
    expect(runner.tryRun(task('x'.repeat(8_001))), 'source').to.equal(undefined);
    expect(runner.tryRun(task('{{ a.b.c }}')), 'a fault').to.equal(undefined);
    expect(runner.tryRun(task('{% if %}')), 'no template').to.equal(undefined);
    expect(runner.tryRun(task('x', '{')), 'no JSON').to.equal(undefined);
    expect(runner.tryRun({ contextJson: undefined, templates: [request('x')] }), 'a check').to.equal(
      undefined,
    );
    const liquid = { ...request('x'), syntax: 'liquid' as const };
    expect(runner.tryRun({ contextJson: '{}', templates: [liquid] })).to.equal(undefined);
    expect(runner.tryRun({ contextJson: '{}', templates: Array(11).fill(request('x')) }), 'many').to.equal(
      undefined,
    );
    expect(
      new InlineRenderer({ ...DEFAULT_LIMITS, steps: 3 }).tryRun(task(LETTER, order(2))),
      'a stricter limit of the pool',
    ).to.equal(undefined);
  });

  it('temporarily skips templates that were unsuitable', () => {
    const short = '{"a":"x"}';
    const long = JSON.stringify({ a: Array(3_900).fill(1) });
    const letter = '{% for x in a %}{% for y in a %}{{ x }}{% endfor %}{% endfor %}';
    expect(outputs(runner.tryRun(task(letter, short)))).to.deep.equal(['x']);
    expect(runner.tryRun(task(letter, long))).to.equal(undefined);
    let passed = 0;
    while (runner.tryRun(task(letter, short)) === undefined) passed++;
    expect(passed).to.equal(50);
  });

  // What takes longer here is a machine that is busy: alone none of these takes 20 ms.
  it('is quick for any template and values', () => {
    const text = JSON.stringify({ a: '<'.repeat(7_900) });
    const list = JSON.stringify({ a: Array(3_900).fill(1) });
    const deep = `{"a":${'['.repeat(3_900)}${']'.repeat(3_900)}}`;
    const number = `{"a":${'9'.repeat(4_200)},"l":[${'1,'.repeat(1_500)}1]}`;
    const keys = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"k${i}":1`).join(',')}}`;
    const dict = `{"d":${keys(700)},"l":[${'1,'.repeat(200)}1]}`;
    const dicts = `{"d":${keys(330)},"e":${keys(329)},"l":[${'1,'.repeat(100)}1]}`;
    const emoji = JSON.stringify({ a: `${'y'.repeat(3_800)}\u{1f600}`, l: Array(1_000).fill(1) });
    const hostile: readonly (readonly [string, string])[] = [
      ['{% for x in a %}{% for y in a %}{% for z in a %}{{ x }}{% endfor %}{% endfor %}{% endfor %}', list],
      ['{% for x in a %}{{ a }}{% endfor %}', list],
      ['{% for x in a %}{{ a|join(a)|length }}{% endfor %}', list],
      ['{% for x in a %}{{ a|upper|lower|title|length }}{% endfor %}', text],
      ['{% for x in a %}{{ a|e|e|e|e|length }}{% endfor %}', text],
      [`{% for x in a %}{{ a|replace('<', a)|length }}{% endfor %}`, text],
      ["{% for x in a %}{{ '%9999d'|format(1) }}{% endfor %}", text],
      ["{% for x in l %}{{ '%.0s'|format(a) }}{{ a|string|length }}{{ a|round(2) }}{% endfor %}", number],
      ['{% for x in a %}{% if a == a and a in a %}{% endif %}{% endfor %}', list],
      ['{% for x in a %}{{ a|int }}{{ a|float }}{% endfor %}', `{"a":"${'9'.repeat(7_900)}"}`],
      ['{% for x in a %}{{ a|int }}{{ a|float }}{% endfor %}', `{"a":"${'9'.repeat(7_900)}x"}`],
      ['{{ a|int }}'.repeat(200), `{"a":"${'9'.repeat(7_900)}x"}`],
      [`{% for x in l %}{% if ${'d and '.repeat(110)}d %}{% endif %}{% endfor %}`, dict],
      [`{% for x in l %}{% if ${'not '.repeat(15)}d %}{% endif %}{% endfor %}`, dict],
      [`{% for x in l %}{% if d ${'!= e != d '.repeat(60)} %}{% endif %}{% endfor %}`, dicts],
      [`{% for x in l %}{% if d == e %}{% endif %}{% endfor %}`, dicts],
      ['{% for x in l %}{{ a[5] }}{{ a|length }}{{ a|last }}{% endfor %}', emoji],
      ['{{ a }}'.repeat(500), deep],
      ['{{ a }}'.repeat(500), JSON.stringify({ a: Array(1_500).fill(1e-99) })],
      ['{{ a'.repeat(1_900), '{}'],
      [`{{ ${'('.repeat(1_900)} }}`, '{}'],
      [`{{ a${'|upper'.repeat(600)} }}`, text],
    ];
    for (const [source, contextJson] of hostile)
      for (const mode of ['text', 'filter', 'html', 'json', 'address'] as const) {
        const fresh = new InlineRenderer(DEFAULT_LIMITS);
        const begun = performance.now();
        fresh.tryRun({ contextJson, templates: [request(source, mode)] });
        const ms = performance.now() - begun;
        expect(ms, `${mode}: ${source.slice(0, 60)}`).to.be.lessThan(150);
      }
  });

  it('gives the same results and errors as a thread, without waiting', async () => {
    const pool = createTemplatePool({ threads: 1, deadlineMs: 1_000 });
    try {
      const contextJson = '{"a":10.0,"b":"it\'s","n":null,"big":12345678901234567890}';
      const sources = [
        "x = {{ a }} and y = '{{ b }}'",
        '{{ big }}',
        '{{ n }}',
        '{{ missing }}',
        '{{ a.b.c }}',
      ].map((source) => request(source, 'filter'));
      const render = async (templates: readonly TemplateRequest[]) =>
        (await pool.render({ contextJson, templates }))[0];
      const brief = await Promise.all(sources.map((source) => render([source])));
      // Beside one that is for a thread they all go there.
      const threaded = await Promise.all(sources.map((source) => render([source, request('{{ 1 + 1 }}')])));
      expect(brief).to.deep.equal(threaded);
      expect(brief.map((outcome) => outcome?.ok)).to.deep.equal([true, true, true, false, false]);

      const ended: string[] = [];
      const endless = '{% for i in range(100000) %}{% for j in range(100000) %}{% endfor %}{% endfor %}';
      const long = render([request(endless)]).then(() => ended.push('long'));
      await new Promise((resolve) => setTimeout(resolve, 20));
      await render([request('{{ a }}')]);
      ended.push('brief');
      await long;
      expect(ended).to.deep.equal(['brief', 'long']);
    } finally {
      await pool.close();
    }
  });
});

import { expect } from 'chai';
import { compileTemplate, TemplateError, type OutputMode, type Syntax } from '../src/index.js';
import { findChanges, hasChanged, objectsOf, takeSnapshot } from './canary.js';
import { generator, testSeed } from '../../../test/support/randomNumbers.js';
import { Jinja2Grammar } from './fuzz/jinja2Grammar.js';
import { LiquidGrammar } from './fuzz/liquidGrammar.js';
import { cpuTimer } from '../../../test/support/cpuTime.js';

/** `npm run fuzz -- templates` sets it: 100,000 take some ten minutes. */
const RENDERS = Number(process.env['FUZZ_RENDERS'] ?? 0);
/** Without a number of renders. */
const SECONDS = Number(process.env['FUZZ_SECONDS'] ?? 1);
const RENDERS_AT_ONCE = 20;
const MODES: readonly OutputMode[] = ['html', 'html', 'text', 'json', 'filter', 'address', 'addressList'];
const LIMITS = { timeMs: 300, steps: 100_000, allocations: 200_000, outputLength: 50_000 };
/** Of processor time: the limit, and what compiling, the last step and the collector take. */
const MAX_CPU_MS = 1_500;
const MAX_GROWTH_MB = 400;

const LAYOUTS = {
  base: '{% block title %}base{% endblock %}{{ records.new.__proto__ }}{% macro greet(x) %}{{ x }}{{ varargs }}{% endmacro %}',
  part: '{% set constructor = [1] %}{{ records.new.total }}{{ x }}',
  constructor: '{{ self.__class__ }}{% block toString %}{{ super() }}{% endblock %}',
};
const CONTEXT = JSON.stringify({
  records: { new: { id: 7, total: 12.5, name: 'Ada', __proto__: null }, old: null },
  list: [3, 1, 2],
  rows: [
    { name: 'b', constructor: 'c', items: [1], then: 'x', length: 3, toJSON: 'y' },
    { name: 'a', get: 1, set: 2, value: 3, valueOf: 4, toString: 5 },
  ],
  empty: {},
  deep: [[[[[1]]]]],
  word: 'constructor',
})
  .replace('12.5', '12.50E0')
  .replace('"old"', '"__proto__":{"gift":1},"old"');
const LIQUID_CONTEXT = CONTEXT.replace('E0', '');

/** What another tenant renders meanwhile. */
const INNOCENT: readonly { readonly source: string; readonly syntax: Syntax }[] = [
  {
    syntax: 'jinja2',
    source: `{% for row in rows %}{{ loop.index }}{{ row.name|upper }}{% if row.gift %}!{% endif %}{% endfor %}{{ records.new.total * 2 }}{{ gift }}{{ {'a': [1]}|tojson }}{{ '%s' % word }}{{ rows|map(attribute='name')|sort|join }}`,
  },
  {
    syntax: 'liquid',
    source: `{% for row in rows %}{{ forloop.index }}{{ row.name | upcase }}{% if row.gift %}!{% endif %}{% cycle 'a', 'b' %}{% endfor %}{{ gift }}{{ list | sort | json }}{% increment n %}{{ i }}`,
  },
];

function render(source: string, syntax: Syntax, mode: OutputMode): string {
  const layouts = syntax === 'jinja2' ? LAYOUTS : {};
  const template = compileTemplate(source, { syntax, mode, layouts, limits: LIMITS });
  return template.renderJson(syntax === 'jinja2' ? CONTEXT : LIQUID_CONTEXT);
}

/** JavaScript's own text, which no template here holds: the output reached a function. */
const INTERNALS =
  /\[native code\]|function\s*\w*\(|\bextends Drop\b|\[object (?:Function|Generator|Undefined)/;

interface Fuzzed {
  renders: number;
  printed: number;
  failed: number;
}

/** @returns what is wrong about the render of a hostile template */
function faultOf(source: string, syntax: Syntax, mode: OutputMode, counts: Fuzzed): string | undefined {
  const cpuMs = cpuTimer();
  counts.renders += 1;
  try {
    const output = render(source, syntax, mode);
    counts.printed += 1;
    if (output.length > LIMITS.outputLength * 3) return `prints ${output.length} characters`;
    if (INTERNALS.test(output)) return `prints ${INTERNALS.exec(output)?.[0] ?? ''}`;
  } catch (error) {
    counts.failed += 1;
    if (!(error instanceof TemplateError))
      return `fails with ${error instanceof Error ? String(error.stack) : String(error)}`;
  }
  const ms = cpuMs();
  return ms > MAX_CPU_MS ? `takes ${ms} ms` : undefined;
}

describe('templates: random hostile ones', function () {
  this.timeout(RENDERS === 0 ? 600_000 : 0);

  it('change nothing that renders share, and fail as template errors within their limits', () => {
    const seed = testSeed();
    const snapshot = takeSnapshot();
    const objects = objectsOf(snapshot);
    const innocent = INNOCENT.map(({ source, syntax }) => ({
      source,
      syntax,
      template: compileTemplate(source, { syntax, mode: 'html' }),
      expected: render(source, syntax, 'html'),
    }));
    const counts: Fuzzed = { renders: 0, printed: 0, failed: 0 };
    const rssBefore = process.memoryUsage().rss;
    const wrong: string[] = [];
    const end = performance.now() + SECONDS * 1000;
    const isOver = () => (RENDERS === 0 ? performance.now() > end : counts.renders >= RENDERS);
    while (!isOver() && wrong.length < 10) {
      for (let i = 0; i < RENDERS_AT_ONCE; i++) {
        const random = generator((seed + counts.renders * 7_919) % 2 ** 31);
        random(2);
        const syntax = random(3) === 0 ? 'liquid' : 'jinja2';
        const grammar =
          syntax === 'liquid' ? new LiquidGrammar(random) : new Jinja2Grammar(random, Object.keys(LAYOUTS));
        const source = grammar.template();
        const mode = MODES[random(MODES.length)] ?? 'html';
        const fault = faultOf(source, syntax, mode, counts);
        if (fault !== undefined) wrong.push(`${syntax} ${mode} ${fault}: ${source}`);
        if (hasChanged(objects))
          wrong.push(`${syntax} ${mode} changes ${findChanges(snapshot).join()}: ${source}`);
      }
      wrong.push(...findChanges(snapshot));
      for (const { source, syntax, template, expected } of innocent) {
        const context = syntax === 'jinja2' ? CONTEXT : LIQUID_CONTEXT;
        if (template.renderJson(context) !== expected || render(source, syntax, 'html') !== expected)
          wrong.push(`an innocent ${syntax} template prints something else`);
      }
    }
    const growthMb = Math.round((process.memoryUsage().rss - rssBefore) / 2 ** 20);
    const { renders, printed, failed } = counts;
    console.log(`      ${renders} renders, ${printed} printed, ${failed} failed, ${growthMb} MB more`);
    expect(wrong).to.deep.equal([]);
    expect(growthMb).to.be.below(MAX_GROWTH_MB);
  });
});

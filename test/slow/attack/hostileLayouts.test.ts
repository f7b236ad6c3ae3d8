import { expect } from 'chai';
import { compileTemplate, createTemplatePool, TemplateError, type TemplatePool } from 'rowpost-jinja2';

interface Hostile {
  readonly template: string;
  readonly layouts?: Readonly<Record<string, string>>;
  readonly context?: Readonly<Record<string, unknown>>;
}

const SECRET = 'secret of another tenant';

/** Names by which a layout might be reached that was not given. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'valueOf',
  '__defineGetter__',
  'theirs',
  ' theirs',
  'theirs ',
  'THEIRS',
  'theirs\0',
  '2:theirs',
  '2/theirs',
  '../2/theirs',
  '/etc/passwd',
  '../../../package.json',
  'file:///etc/passwd',
  'http://localhost/theirs',
  'node:fs',
  '',
  'x'.repeat(100_000),
  '%2e%2e/theirs',
  "theirs' or '1'='1",
  '*',
  '%',
  '\u202etheirs',
  'ｔheirs',
];

const escapes: Hostile[] = NAMES.flatMap((name) => [
  { template: '{% include name ignore missing %}', context: { name } },
  { template: '{% import name as m %}{{ m }}', context: { name } },
]);

const recursion: Hostile[] = [
  { template: '{% include "a" %}', layouts: { a: '{% include "a" %}' } },
  { template: '{% include "a" %}', layouts: { a: '{% include "a" %}{% include "a" %}' } },
  { template: '{% include "a" %}', layouts: { a: '{% include "b" %}', b: '{% include "a" %}' } },
  { template: '{% include "a" %}', layouts: { a: '{% include name %}' }, context: { name: 'a' } },
  { template: '{% extends "a" %}', layouts: { a: '{% extends "a" %}' } },
  { template: '{% extends "a" %}', layouts: { a: '{% extends "b" %}', b: '{% extends "a" %}' } },
  { template: '{% extends "a" %}', layouts: { a: '{% if true %}{% extends "a" %}{% endif %}' } },
  { template: '{% import "a" as x %}', layouts: { a: '{% import "a" as x %}' } },
  {
    template: '{% from "a" import x %}',
    layouts: { a: '{% from "b" import x %}', b: '{% from "a" import x %}' },
  },
  { template: '{% import "a" as x with context %}', layouts: { a: '{% import "a" as x with context %}' } },
  { template: '{% block a %}{{ self.a() }}{% endblock %}' },
  {
    template: '{% extends "a" %}{% block b %}{{ self.b() }}{% endblock %}',
    layouts: { a: '{% block b %}{% endblock %}' },
  },
  {
    template: '{% extends "a" %}{% block b %}{{ super() }}{{ self.b() }}{% endblock %}',
    layouts: { a: '{% block b %}x{% endblock %}' },
  },
  { template: '{% include "a" %}', layouts: { a: '{% block b %}{% include "a" %}{% endblock %}' } },
  {
    template: '{% from "a" import f %}{{ f(f) }}',
    layouts: { a: '{% macro f(g) %}{{ g(g) }}{% endmacro %}' },
  },
  { template: '{% include "a" %}', layouts: { a: '{% for x in range(9) %}{% include "a" %}{% endfor %}' } },
  { template: '{% include "a" ignore missing %}', layouts: { a: '{% include ["a", "b"] ignore missing %}' } },
  {
    template: '{% include "a" %}',
    layouts: { a: `${'{% if 1 %}'.repeat(50)}{% include "a" %}${'{% endif %}'.repeat(50)}` },
  },
];

const doubling = (count: number, of: (next: string) => string): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`l${i}`, i === count - 1 ? 'x' : of(`l${i + 1}`)]),
  );
const bombs: Hostile[] = [
  ...[2, 3, 10].map((times) => ({
    template: '{% include "l0" %}',
    layouts: doubling(60, (next) => `{% include "${next}" %}`.repeat(times)),
  })),
  { template: '{% for i in range(99999) %}{% include "a" %}{% endfor %}', layouts: { a: 'x'.repeat(1_000) } },
  { template: '{% for i in range(99999) %}{% include "a" %}{% endfor %}', layouts: { a: '{% set x = 1 %}' } },
  {
    template: '{% for i in range(99999) %}{% for j in range(999) %}{% include "a" %}{% endfor %}{% endfor %}',
    layouts: { a: '' },
  },
  {
    template: '{% for i in range(99999) %}{% import "a" as m with context %}{% endfor %}',
    layouts: { a: 'x'.repeat(10_000) },
  },
  {
    template: '{% for i in range(99999) %}{% import "a" as m %}{{ m }}{% endfor %}',
    layouts: { a: 'x'.repeat(10_000) },
  },
  { template: '{% import "a" as m %}{% set y = m ~ m %}'.repeat(1_000), layouts: { a: 'x'.repeat(100_000) } },
  {
    template: `${Array.from({ length: 2_000 }, (_, i) => `{% set v${i} = 1 %}`).join('')}{% for i in range(99999) %}{% include "a" %}{% endfor %}`,
    layouts: { a: '{% for j in range(99) %}{% include "b" %}{% endfor %}', b: '' },
  },
  { template: '{% include names %}', context: { names: Array.from({ length: 50_000 }, (_, i) => `n${i}`) } },
  { template: '{% include range(99999)|map("string")|list ignore missing %}' },
  { template: '{% include "a" %}', layouts: { a: 'x'.repeat(199_999) + '{{ 1 }}' } },
  {
    template: '{% include name %}',
    layouts: Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`l${i}`, 'x'.repeat(5_000)])),
    context: { name: 'l199' },
  },
  { template: '{% include "a" %}', layouts: { a: '{{ 1 }}'.repeat(28_000), b: '' } },
  {
    template: '{% extends "a" %}',
    layouts: {
      a: '{% block a %}{% endblock %}{% for i in range(99999) %}{{ self.a() }}{% endfor %}{% for i in range(99999) %}{{ self.a() }}{% endfor %}',
    },
  },
  {
    template: '{% extends "l0" %}',
    layouts: {
      l99: '{% block b %}x{% endblock %}',
      ...Object.fromEntries(
        Array.from({ length: 99 }, (_, i): [string, string] => [
          `l${i}`,
          `{% extends "l${i + 1}" %}{% block b %}{{ super() }}{{ super() }}{% endblock %}`,
        ]),
      ),
    },
  },
  { template: '{% include "a" %}', layouts: { a: "{{ 'x' * 4999999 }}" } },
  { template: '{% for i in range(9) %}{% include "a" %}{% endfor %}', layouts: { a: "{{ 'x' * 999999 }}" } },
  {
    template: '{% include "a" %}',
    layouts: { a: '{% include "b" %}'.repeat(10_000), b: '{% include "c" %}'.repeat(1_000), c: 'x' },
  },
];

const prototypes: Hostile[] = [
  '{% import "m" as m %}{{ m.__class__ }}{{ m.constructor }}{{ m.__proto__ }}{{ m.prototype }}',
  '{% import "m" as m %}{{ m.run }}{{ m.program }}{{ m.body }}{{ m["run"] }}{{ m["program"] }}',
  '{% import "m" as m %}{{ m.attribute("run") }}',
  '{% import "m" as m %}{{ m.f.closure }}{{ m.f.definition }}{{ m.f.constructor }}',
  '{% from "m" import constructor %}{{ constructor }}',
  '{% from "m" import toString as t %}{{ t() }}',
  '{% from "m" import f %}{{ f.constructor("return process")() }}',
  '{{ self.constructor }}{{ self.__proto__ }}{{ self.run }}{{ self._TemplateReference__context }}{% block b %}{% endblock %}',
  '{{ self.b.stack }}{{ self.b.run }}{{ self.b.super }}{{ self.b.__globals__ }}{% block b %}{% endblock %}',
  '{% extends "m" %}{% block c %}{{ super.constructor }}{{ super.run.rendering.layouts }}{% endblock %}',
  '{% set __proto__ = {"polluted": 1} %}{% include "m" %}',
  '{% macro __proto__() %}{% endmacro %}{% include "m" %}',
  '{% import "m" as __proto__ %}{{ {}.polluted }}',
  '{% from "m" import f as constructor %}{{ constructor() }}',
  '{% include {"a": "m"} %}',
  '{% include m.f %}',
  '{% set x = self %}{% include "m" %}',
  '{% include ["m"]|map(attribute="constructor")|list ignore missing %}',
  '{% import "m" as m %}{{ m|attr("run") }}{{ m|attr("__init__") }}{{ m|tojson }}',
  '{% import "m" as m %}{{ [m]|map(attribute="program.origin.source")|list }}',
].map((template) => ({
  template,
  layouts: { m: '{% macro f() %}{% endmacro %}{% block c %}{% endblock %}' },
}));

/** Whatever is done with it, the context of others is not to be seen without being passed on. */
const contexts: Hostile[] = [
  { template: '{% import "a" as m %}{{ m }}', layouts: { a: '{{ hidden }}' }, context: { hidden: SECRET } },
  {
    template: '{% include "a" without context %}',
    layouts: { a: '{{ hidden }}' },
    context: { hidden: SECRET },
  },
  {
    template: '{% from "a" import f %}{{ f() }}',
    layouts: { a: '{% macro f() %}{{ hidden }}{% endmacro %}' },
    context: { hidden: SECRET },
  },
];

const ALL = [...escapes, ...recursion, ...bombs, ...prototypes, ...contexts];
const POOL_OPTIONS = { processes: 1, maxOldGenerationMb: 128, deadlineMs: 5_000 };

describe('attack: hostile layouts', () => {
  let pool: TemplatePool;
  before(() => {
    pool = createTemplatePool(POOL_OPTIONS);
  });
  after(() => pool.close());

  it('are at least a hundred', () => expect(ALL.length).to.be.at.least(100));

  for (const [index, { template, layouts = {}, context = {} }] of ALL.entries()) {
    it(`${index}: ${template.slice(0, 60)}${layouts['a']?.slice(0, 40) ?? ''}`, async () => {
      // Another tenant's layouts have just been rendered by the same process.
      const theirs = {
        theirs: SECRET,
        ...Object.fromEntries(Object.keys(layouts).map((name) => [name, SECRET])),
      };
      const request = { name: 't', source: template, syntax: 'jinja2', mode: 'html' } as const;
      await pool.render({ tenantid: 2, contextJson: '{}', layouts: theirs, templates: [request] });
      const startedMs = performance.now();
      const [outcome] = await pool.render({
        tenantid: 1,
        contextJson: JSON.stringify(context),
        layouts,
        templates: [request],
      });
      expect(performance.now() - startedMs).to.be.below(30_000);
      if (outcome?.ok)
        expect(outcome.output)
          .not.to.contain(SECRET)
          .and.not.to.match(/function|\[object|native code/);
      else expect(outcome?.error.message).not.to.match(/took longer than|memory of the process|heap/i);
      expect('polluted' in {}).to.equal(false);
    });
  }

  it('fail as template errors on infinite recursion', () => {
    for (const { template, layouts = {}, context = {} } of recursion)
      expect(() => compileTemplate(template, { layouts }).render({ ...context }), template).to.throw(
        TemplateError,
      );
  });
});

import { BUILTIN_NAMES } from '../../src/index.js';
import { hostileName, pick, plainName, type Random } from './hostileNames.js';

const FORMATS = [
  '{0.X}',
  '{0[X]}',
  '{X}',
  '{0!r:X}',
  '{:>{1}}',
  '%(X)s',
  '%s %r',
  '%*d',
  '{0.X.X[X]}',
  '{:X}',
];
const OPERATORS = [
  '+',
  '-',
  '*',
  '/',
  '//',
  '%',
  '**',
  '~',
  '==',
  '!=',
  '<',
  '>=',
  'in',
  'not in',
  'and',
  'or',
];
const BY_ATTRIBUTE = ['map', 'groupby', 'sort', 'unique', 'sum', 'min', 'max', 'join'];

/** Random templates that reach for what lies behind their values. */
export class Jinja2Grammar {
  constructor(
    private readonly random: Random,
    private readonly layouts: readonly string[],
  ) {}

  template(): string {
    const start = this.random(8) === 0 ? `{% extends ${this.layout()} %}` : '';
    return start + this.statements(1 + this.random(2));
  }

  private statements(depth: number): string {
    return Array.from({ length: 1 + this.random(3) }, () => this.statement(depth)).join('');
  }

  private statement(depth: number): string {
    const { random } = this;
    const x = () => this.expression(depth);
    const body = () => (depth > 0 ? this.statements(depth - 1) : 'text');
    const name = plainName(random);
    switch (random(depth > 0 ? 18 : 6)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return `{{ ${x()} }}`;
      case 4:
        return `{% set ${name} = ${x()} %}{{ ${name} }}`;
      case 5:
        return `{% set x = namespace(a=${x()}) %}{% set x.${plainName(random)} = ${x()} %}{{ x.${plainName(random)} }}`;
      case 6:
        return `{% for ${name} in ${x()} %}${body()}{{ loop.${plainName(random)} }}{% else %}-{% endfor %}`;
      case 7:
        return `{% for a, b in ${x()} recursive %}{{ loop(b) }}${body()}{% endfor %}`;
      case 8:
        return `{% macro ${name}(a, b=${x()}) %}${body()}{{ varargs }}{{ kwargs }}{{ caller }}{% endmacro %}{{ ${name}(${x()}, ${plainName(random)}=1) }}{{ ${name}.${plainName(random)} }}`;
      case 9:
        return `{% if ${x()} %}${body()}{% elif ${x()} %}b{% endif %}`;
      case 10:
        return `{% include ${this.layout()} ignore missing %}`;
      case 11:
        return `{% import ${this.layout()} as m %}{{ m.${plainName(random)} }}{{ m.greet(${x()}) }}`;
      case 12:
        return `{% from ${this.layout()} import ${name} as y %}{{ y }}`;
      case 13:
        return `{% filter ${pick(random, BUILTIN_NAMES.filters)} %}${body()}{% endfilter %}`;
      case 14:
        return `{% with ${name} = ${x()} %}${body()}{% endwith %}`;
      case 15:
        return `{% block ${name} %}${body()}{{ super() }}{{ self.${plainName(random)} }}{% endblock %}`;
      case 16:
        return `{% autoescape ${x()} %}${body()}{% endautoescape %}`;
      default:
        return `{% call(z) ${plainName(random)}(${x()}) %}${body()}{% endcall %}`;
    }
  }

  private layout(): string {
    return this.random(4) === 0 ? this.text() : `'${pick(this.random, this.layouts)}'`;
  }

  private expression(depth: number): string {
    const { random } = this;
    if (depth <= 0) return this.leaf();
    const x = () => this.expression(depth - 1 - random(2));
    switch (random(13)) {
      case 0:
        return this.leaf();
      case 1:
      case 2:
        return `${this.operand(x())}.${plainName(random)}`;
      case 3:
      case 4:
        return `${this.operand(x())}[${random(2) ? this.text() : x()}]`;
      case 5:
        return `${this.operand(x())}.${plainName(random)}(${this.args(x)})`;
      case 6:
        return `${random(6) ? pick(random, BUILTIN_NAMES.functions) : plainName(random)}(${this.args(x)})`;
      case 7:
        return `${this.operand(x())}|${pick(random, BUILTIN_NAMES.filters)}${random(2) ? `(${this.args(x)})` : ''}`;
      case 8:
        return this.byAttribute(this.operand(x()));
      case 9:
        return `${this.operand(x())} ${pick(random, OPERATORS)} ${this.operand(x())}`;
      case 10:
        return `${this.operand(x())} is ${pick(random, BUILTIN_NAMES.tests)}${random(2) ? `(${x()})` : ''}`;
      case 11:
        return random(2) ? `[${x()}, ${x()}]` : `{${this.text()}: ${x()}, ${x()}: 1}`;
      default:
        return this.format(x);
    }
  }

  private byAttribute(input: string): string {
    const { random } = this;
    const name = this.text();
    switch (random(4)) {
      case 0:
        return `${input}|attr(${name})`;
      case 1:
        return `${input}|map(attribute=${name}, default=1)|list`;
      case 2:
        return `${input}|${pick(random, ['selectattr', 'rejectattr'])}(${name}, ${this.text()}, 1)|list`;
      default:
        return `${input}|${pick(random, BY_ATTRIBUTE)}(attribute=${name})`;
    }
  }

  private format(x: () => string): string {
    const text = pick(this.random, FORMATS).replaceAll('X', () => plainName(this.random));
    return text.startsWith('{') ? `'${text}'.format(${this.args(x)})` : `'${text}' % (${x()})`;
  }

  private args(x: () => string): string {
    const { random } = this;
    const given = Array.from({ length: random(3) }, x);
    if (random(3) === 0) given.push(`${plainName(random)}=${x()}`);
    if (random(12) === 0) given.push(pick(random, [`*${this.operand(x())}`, `**${this.operand(x())}`]));
    return given.join(', ');
  }

  private operand(text: string): string {
    return `(${text})`;
  }

  private leaf(): string {
    const { random } = this;
    switch (random(14)) {
      case 0:
        return this.text();
      case 1:
        return pick(random, [
          '0',
          '1',
          '-1',
          '3',
          '1.5',
          '10.0',
          '1e400',
          '2 ** 80',
          'true',
          'none',
          '()',
          '[]',
          '{}',
        ]);
      case 2:
        return pick(random, BUILTIN_NAMES.functions);
      case 3:
        return pick(random, ['self', 'loop', 'caller', 'varargs', 'kwargs', 'super', 'x', 'm', 'y']);
      case 4:
        return plainName(random);
      default:
        return pick(random, [
          'records.new.total',
          'records.new',
          'records',
          'list',
          'rows',
          'empty',
          'deep',
          'word',
          'dict(a=1)',
          'word|safe',
          'range(3)',
          'rows|groupby("name")',
          'namespace(a=1)',
          'cycler(1, 2)',
          'joiner()',
        ]);
    }
  }

  /** A string literal of a hostile name, in one of the ways to write it. */
  private text(): string {
    const { random } = this;
    const name = hostileName(random);
    switch (random(5)) {
      case 0:
        return `'${Array.from(name, (c) => `\\x${(c.charCodeAt(0) & 255).toString(16).padStart(2, '0')}`).join('')}'`;
      case 1:
        return `'${Array.from(name, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}'`;
      case 2:
        return `('${name.slice(0, 3)}' ~ '${name.slice(3)}')`;
      default:
        return `'${name}'`;
    }
  }
}

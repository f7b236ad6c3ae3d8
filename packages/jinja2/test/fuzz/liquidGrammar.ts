import { filters } from 'liquidjs';
import { hostileName, pick, plainName, type Random } from './hostileNames.js';

const FILTERS = Object.keys(filters);
const OPERATORS = ['==', '!=', '<', '>', '<=', '>=', 'contains', 'and', 'or'];
const DROPS = ['forloop', 'tablerowloop', 'empty', 'blank', 'nil', 'block', 'parentloop'];

/** Random Liquid templates that reach for what lies behind their values. */
export class LiquidGrammar {
  constructor(private readonly random: Random) {}

  template(): string {
    return this.statements(1 + this.random(2));
  }

  private statements(depth: number): string {
    return Array.from({ length: 1 + this.random(3) }, () => this.statement(depth)).join('');
  }

  private statement(depth: number): string {
    const { random } = this;
    const body = () => (depth > 0 ? this.statements(depth - 1) : 'text');
    const name = plainName(random);
    switch (random(depth > 0 ? 14 : 6)) {
      case 0:
      case 1:
      case 2:
        return `{{ ${this.filtered()} }}`;
      case 3:
        return `{% assign ${name} = ${this.filtered()} %}{{ ${name} }}`;
      case 4:
        return `{% ${pick(random, ['increment', 'decrement'])} ${name} %}`;
      case 5:
        return `{% cycle ${this.value()}: ${this.value()}, ${this.value()} %}`;
      case 6:
        return `{% for ${name} in ${this.value()} ${pick(random, ['', 'limit: 2', 'offset: continue', 'reversed', `${plainName(random)}: ${this.value()}`])} %}${body()}{{ forloop.${plainName(random)} }}{% endfor %}`;
      case 7:
        return `{% tablerow ${name} in ${this.value()} cols: ${this.value()} %}${body()}{{ tablerowloop.${plainName(random)} }}{% endtablerow %}`;
      case 8:
        return `{% if ${this.value()} ${pick(random, OPERATORS)} ${this.value()} %}${body()}{% endif %}`;
      case 9:
        return `{% case ${this.value()} %}{% when ${this.value()}, ${this.value()} %}${body()}{% endcase %}`;
      case 10:
        return `{% capture ${name} %}${body()}{% endcapture %}{{ ${name} }}`;
      case 11:
        return `{% unless ${this.value()} %}${body()}{% endunless %}`;
      case 12:
        return random(4)
          ? body()
          : `{% ${pick(random, [name, 'render', 'include', 'layout', 'block'])} ${this.value()} %}`;
      default:
        return `{% liquid\nassign ${name} = ${this.filtered()}\necho ${name} %}`;
    }
  }

  private filtered(): string {
    const { random } = this;
    const chain = Array.from({ length: random(4) }, () => {
      const name = random(8) === 0 ? plainName(random) : pick(random, FILTERS);
      const args = Array.from({ length: random(4) }, () =>
        random(5) === 0 ? `${plainName(random)}: ${this.value()}` : this.value(),
      );
      return ` | ${name}${args.length > 0 ? `: ${args.join(', ')}` : ''}`;
    });
    return this.value() + chain.join('');
  }

  private value(): string {
    const { random } = this;
    switch (random(6)) {
      case 0:
        return `'${hostileName(random)}'`;
      case 1:
        return pick(random, [
          '1',
          '-1',
          '0',
          '2.5',
          'true',
          'nil',
          '(1..3)',
          'blank',
          'empty',
          '1e3',
          '99999999999',
        ]);
      case 2:
        return this.path(pick(random, DROPS));
      case 3:
        return this.path(plainName(random));
      default:
        return this.path(
          pick(random, [
            'records',
            'records.new',
            'records.new.total',
            'list',
            'rows',
            'word',
            'deep',
            'empty',
          ]),
        );
    }
  }

  private path(start: string): string {
    const { random } = this;
    return Array.from({ length: random(4) }).reduce<string>((path) => {
      if (random(2)) return `${path}.${plainName(random)}`;
      return `${path}[${random(2) ? `'${hostileName(random)}'` : pick(random, ['0', '-1', 'word', 'first', 'size'])}]`;
    }, start);
  }
}

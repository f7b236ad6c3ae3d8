import { renderFault } from '../errors.js';
import type { Evaluation } from '../values/callable.js';
import { type Dict } from '../values/dict.js';
import { repr, str, hexEscape } from '../values/text.js';
import { Markup, type Value } from '../values/value.js';
import { formatValue } from './spec.js';

export interface BraceArguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value> | Dict;
}

/**
 * Python's `format.format(*positional, **named)`.
 * @param escape given for markup: applied to each field's output
 */
export function braceFormat(
  format: string,
  args: BraceArguments,
  evaluation: Evaluation,
  escape?: (value: Value) => string,
): string {
  return new BraceFormatter(args, evaluation, escape).format(format, 2);
}

class BraceFormatter {
  /** The next automatic field number, or undefined once a field was numbered explicitly. */
  private automatic: number | undefined = 0;

  constructor(
    private readonly args: BraceArguments,
    private readonly evaluation: Evaluation,
    private readonly escape: ((value: Value) => string) | undefined,
  ) {}

  private get budget() {
    return this.evaluation.budget;
  }

  format(source: string, depth: number): string {
    if (depth < 0) throw renderFault('Max string recursion exceeded');
    let out = '';
    let position = 0;
    while (position < source.length) {
      this.budget.step();
      const brace = nextBrace(source, position);
      out += source.slice(position, brace);
      if (brace >= source.length) break;
      const character = source.charAt(brace);
      if (source.charAt(brace + 1) === character) {
        out += character;
        position = brace + 2;
      } else if (character === '}') {
        throw renderFault("Single '}' encountered in format string");
      } else {
        const end = closingBrace(source, brace);
        const text = this.field(source.slice(brace + 1, end), depth);
        this.budget.allocate(text.length);
        out += text;
        position = end + 1;
      }
    }
    return out;
  }

  /** `name!conversion:spec`, without its braces. */
  private field(field: string, depth: number): string {
    const [, name = '', conversion, spec = ''] =
      /^([^!:[]*(?:\[[^\]]*\]?[^!:[]*)*)(?:!([^:]*))?(?::([^]*))?$/.exec(field) ?? [];
    const value = this.convert(this.lookup(name), conversion);
    const resolvedSpec = spec.includes('{') || spec.includes('}') ? this.format(spec, depth - 1) : spec;
    if (this.escape === undefined) return formatValue(value, resolvedSpec, this.budget);
    if (!(value instanceof Markup)) return this.escape(formatValue(value, resolvedSpec, this.budget));
    if (resolvedSpec !== '') throw renderFault('Unsupported format specification for Markup.');
    return value.text;
  }

  private convert(value: Value, conversion: string | undefined): Value {
    switch (conversion) {
      case undefined:
        return value;
      case 's':
        return str(value, this.budget);
      case 'r':
        return repr(value, this.budget);
      case 'a':
        return repr(value, this.budget).replace(/\P{ASCII}/gu, hexEscape);
      default:
        throw renderFault(`Unknown conversion specifier ${conversion}`);
    }
  }

  /** `first.attribute[item]…` */
  private lookup(name: string): Value {
    const [first = ''] = /^[^.[]*/.exec(name) ?? [];
    let value = this.argument(first);
    let rest = name.slice(first.length);
    while (rest !== '') {
      const [step, attribute, item] = /^(?:\.([^.[]+)|\[([^\]]+)\])/.exec(rest) ?? [];
      if (step === undefined) throw renderFault('Empty attribute in format string');
      if (attribute !== undefined) value = this.evaluation.attribute(value, attribute);
      else if (item !== undefined)
        value = this.evaluation.item(value, /^\d+$/.test(item) ? Number(item) : item);
      rest = rest.slice(step.length);
    }
    return value;
  }

  private argument(name: string): Value {
    if (name !== '' && !/^\d+$/.test(name)) return this.namedArgument(name);
    const index = this.fieldNumber(name);
    const value = this.args.positional[index];
    if (value === undefined)
      throw renderFault(`Replacement index ${index} out of range for positional args tuple`);
    return value;
  }

  private fieldNumber(name: string): number {
    if (name === '') {
      if (this.automatic === undefined)
        throw renderFault('cannot switch from manual field specification to automatic field numbering');
      return this.automatic++;
    }
    if (this.automatic !== undefined && this.automatic > 0) {
      throw renderFault('cannot switch from automatic field numbering to manual field specification');
    }
    this.automatic = undefined;
    return Number(name);
  }

  private namedArgument(name: string): Value {
    const { named } = this.args;
    const value = named.get(name);
    if (value === undefined) throw renderFault(`KeyError: '${name}'`);
    return value;
  }
}

function nextBrace(source: string, from: number): number {
  let at = from;
  while (at < source.length && source.charAt(at) !== '{' && source.charAt(at) !== '}') at++;
  return at;
}

function closingBrace(source: string, open: number): number {
  let depth = 0;
  for (let i = open; i < source.length; i++) {
    if (source.charAt(i) === '{') depth++;
    else if (source.charAt(i) === '}' && --depth === 0) return i;
  }
  throw renderFault("expected '}' before end of string");
}

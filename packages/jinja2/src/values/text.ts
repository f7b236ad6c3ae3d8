import { ownValue } from '../ownValue.js';
import type { Budget } from '../limits.js';
import { limitFault } from '../errors.js';
import { Decimal } from './decimal.js';
import { Dict } from './dict.js';
import { floatText } from './numbers.js';
import { Float, isList, Markup, PyObject, Tuple, Undefined, type Value } from './value.js';

/** Nested containers deeper than this are not printed, compared or serialized. */
export const MAX_DATA_DEPTH = 200;

/** Python's `str(value)`. */
export function str(value: Value, budget: Budget): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return Number.isInteger(value) ? String(value) : floatText(value);
    case 'boolean':
      return value ? 'True' : 'False';
    case 'bigint':
      return value.toString();
    default:
      if (value === null) return 'None';
      if (value instanceof Markup) return value.text;
      if (value instanceof Undefined) return '';
      if (value instanceof Decimal) return decimalText(value, budget);
      return (value instanceof PyObject ? value.markup?.() : undefined) ?? repr(value, budget);
  }
}

/** The number's digits; charges the budget before writing them. */
function decimalText(value: Decimal, budget: Budget): string {
  budget.allocate(value.textLength);
  return value.text;
}

/** Python's `repr(value)`. Containers charge the budget for what they print. */
export function repr(value: Value, budget: Budget): string {
  return new ReprWriter(budget).write(value);
}

class ReprWriter {
  /** The containers being printed, so that one inside itself prints as `[...]`. */
  private readonly open: Value[] = [];

  constructor(private readonly budget: Budget) {}

  write(value: Value): string {
    switch (typeof value) {
      case 'string':
        this.budget.allocate(value.length);
        return quote(value);
      case 'object':
        return value === null ? 'None' : this.writeObject(value);
      default:
        return str(value, this.budget);
    }
  }

  private writeObject(value: object & Value): string {
    if (isList(value)) return this.nested(value, '[', ']', value);
    if (value instanceof Dict) return this.writeDict(value);
    if (value instanceof Tuple) {
      return value.items.length === 1
        ? this.nested(value, '(', ',)', value.items)
        : this.nested(value, '(', ')', value.items);
    }
    if (value instanceof Float) return floatText(value.value);
    if (value instanceof Decimal) return `Decimal('${decimalText(value, this.budget)}')`;
    if (value instanceof Markup) return `Markup(${this.write(value.text)})`;
    return this.guarded(
      value,
      '...',
      () => value.repr?.((inner) => this.write(inner)) ?? `<${value.typeName} object>`,
    );
  }

  private writeDict(value: Dict): string {
    return this.guarded(value, '{...}', () => {
      const parts = value.entries().map(([key, item]) => `${this.write(key)}: ${this.write(item)}`);
      return `{${parts.join(', ')}}`;
    });
  }

  private nested(value: Value, before: string, after: string, items: readonly Value[]): string {
    return this.guarded(value, `${before}...${after}`, () => {
      return `${before}${items.map((item) => this.write(item)).join(', ')}${after}`;
    });
  }

  private guarded(value: Value, whenOpen: string, write: () => string): string {
    if (this.open.includes(value)) return whenOpen;
    if (this.open.length >= MAX_DATA_DEPTH) throw limitFault('the value nests too deeply to be printed');
    this.budget.allocate(1);
    this.open.push(value);
    const text = write();
    this.open.pop();
    this.budget.allocate(text.length);
    return text;
  }
}

const NEEDS_ESCAPE = /[\\\p{C}\p{Zl}\p{Zp}]|[^\P{Zs} ]/u;
const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

/** A str literal as in Python's repr. */
function quote(text: string): string {
  const mark = text.includes("'") && !text.includes('"') ? '"' : "'";
  if (!NEEDS_ESCAPE.test(text) && !text.includes(mark)) return mark + text + mark;
  let out = mark;
  for (const char of text) {
    if (char === mark) out += `\\${mark}`;
    else if (!NEEDS_ESCAPE.test(char)) out += char;
    else out += ownValue(SHORT_ESCAPES, char) ?? hexEscape(char);
  }
  return out + mark;
}

/** `\xhh`, `\uhhhh` or `\Uhhhhhhhh`. */
export function hexEscape(char: string): string {
  const code = (char.codePointAt(0) ?? 0).toString(16);
  if (code.length <= 2) return `\\x${code.padStart(2, '0')}`;
  return code.length <= 4 ? `\\u${code.padStart(4, '0')}` : `\\U${code.padStart(8, '0')}`;
}

import type { Budget } from '../limits.js';
import { compareText } from '../values/compare.js';
import { codePointLength } from '../values/codePoints.js';
import { Dict } from '../values/dict.js';
import { ordered } from '../values/compare.js';
import { Fault } from '../errors.js';
import { repr } from '../values/text.js';
import { isList, Tuple, typeName, type Value } from '../values/value.js';
import { splitLines } from '../values/whitespace.js';

const WIDTH = 80;

/** Formats a value like Python's `pprint.pformat`: 80 columns wide where it can be broken. */
export function prettyPrint(value: Value, budget: Budget): string {
  return new PrettyPrinter(budget).format(sorted(value, budget, 0), { indent: 0, allowance: 0, level: 0 });
}

/** Position of a value: its column, the width needed after it, and its depth. */
interface Place {
  readonly indent: number;
  readonly allowance: number;
  readonly level: number;
}

class PrettyPrinter {
  constructor(private readonly budget: Budget) {}

  format(value: Value, place: Place): string {
    const text = repr(value, this.budget);
    if (codePointLength(text) <= WIDTH - place.indent - place.allowance) return text;
    const inner = { ...place, level: place.level + 1 };
    if (value instanceof Dict) return `{${this.entries(value.entries(), inner)}}`;
    if (isList(value)) return `[${this.items(value, inner, 1)}]`;
    if (value instanceof Tuple) {
      const end = value.items.length === 1 ? ',)' : ')';
      return `(${this.items(value.items, inner, end.length)}${end}`;
    }
    return typeof value === 'string' ? this.text(value, inner) : text;
  }

  private entries(
    entries: readonly (readonly [Value, Value])[],
    { indent, allowance, level }: Place,
  ): string {
    const parts = entries.map(([key, value], i) => {
      const name = `${repr(key, this.budget)}: `;
      const after = i === entries.length - 1 ? allowance + 1 : 1;
      return (
        name + this.format(value, { indent: indent + 1 + codePointLength(name), allowance: after, level })
      );
    });
    return parts.join(`,\n${' '.repeat(indent + 1)}`);
  }

  private items(items: readonly Value[], { indent, allowance, level }: Place, end: number): string {
    const parts = items.map((item, i) =>
      this.format(item, {
        indent: indent + 1,
        allowance: i === items.length - 1 ? allowance + end : 1,
        level,
      }),
    );
    return parts.join(`,\n${' '.repeat(indent + 1)}`);
  }

  /** A long string as adjacent literals, one per line, broken between words. */
  private text(text: string, place: Place): string {
    const top = place.level === 1;
    const indent = place.indent + (top ? 1 : 0);
    const allowance = place.allowance + (top ? 1 : 0);
    const lines = splitLines(text, true);
    const chunks = lines.flatMap((line, i) =>
      this.lineChunks(line, WIDTH - indent, i === lines.length - 1 ? allowance : 0),
    );
    const [only] = chunks;
    if (chunks.length === 1 && only !== undefined) return only;
    const joined = chunks.join(`\n${' '.repeat(indent)}`);
    return top ? `(${joined})` : joined;
  }

  private lineChunks(line: string, width: number, allowance: number): string[] {
    const whole = repr(line, this.budget);
    if (codePointLength(whole) <= width - allowance) return [whole];
    const parts = line.match(/\S*\s*/gu)?.filter((part) => part !== '') ?? [];
    const chunks: string[] = [];
    let current = '';
    parts.forEach((part, i) => {
      const spare = width - (i === parts.length - 1 ? allowance : 0);
      if (codePointLength(repr(current + part, this.budget)) > spare) {
        if (current !== '') chunks.push(repr(current, this.budget));
        current = part;
      } else {
        current += part;
      }
    });
    if (current !== '') chunks.push(repr(current, this.budget));
    return chunks;
  }
}

/** The value with the keys of every dict in order. */
function sorted(value: Value, budget: Budget, depth: number): Value {
  if (depth > 60) return value;
  budget.allocate(1);
  if (isList(value)) return value.map((item) => sorted(item, budget, depth + 1));
  if (value instanceof Tuple) return new Tuple(value.items.map((item) => sorted(item, budget, depth + 1)));
  if (!(value instanceof Dict)) return value;
  const entries = value.entries().map(([key, item]) => [key, sorted(item, budget, depth + 1)] as const);
  return Dict.of(entries.sort(([a], [b]) => compareKeys(a, b, budget)));
}

/** Python's order if the values have one, otherwise by type name. */
function compareKeys(a: Value, b: Value, budget: Budget): number {
  try {
    return ordered('<', a, b, budget) ? -1 : ordered('<', b, a, budget) ? 1 : 0;
  } catch (error) {
    if (!(error instanceof Fault) || error.kind !== 'render') throw error;
    return compareText(typeName(a), typeName(b));
  }
}

import type { Budget } from '../limits.js';
import { limitFault, renderFault } from '../errors.js';
import { Decimal } from '../values/decimal.js';
import { Dict, sequenceItems } from '../values/dict.js';
import { asNumber, floatText } from '../values/numbers.js';
import { sortValues } from '../values/sort.js';
import { MAX_DATA_DEPTH, str } from '../values/text.js';
import { isFloat, isText, JsonMarkup, textOf, Tuple, typeName, type Value } from '../values/value.js';

/**
 * Jinja2's `tojson`: JSON that is safe in HTML, scripts included, with sorted keys and ASCII only.
 * @param indent what indents each level; undefined for one line
 */
export function toJson(value: Value, indent: string | undefined, budget: Budget): JsonMarkup {
  const json = new JsonWriter(indent, budget).write(value, 0);
  return new JsonMarkup(json.replace(/[<>&']/g, (c) => `\\u00${c.charCodeAt(0).toString(16)}`));
}

class JsonWriter {
  constructor(
    private readonly indent: string | undefined,
    private readonly budget: Budget,
  ) {}

  write(value: Value, depth: number): string {
    if (depth > MAX_DATA_DEPTH) throw limitFault('the value nests too deeply to be written as JSON');
    this.budget.allocate(1);
    if (value === null) return 'null';
    if (typeof value === 'boolean') return value ? 'true' : 'false';
    if (isText(value)) return this.text(textOf(value));
    if (isFloat(value)) return floatJson(asNumber(value) ?? 0);
    if (typeof value === 'number' || typeof value === 'bigint') return value.toString();
    if (value instanceof Decimal) return str(value, this.budget);
    const items = sequenceItems(value);
    if (items !== undefined)
      return this.wrap(
        '[',
        items.map((item) => this.write(item, depth + 1)),
        ']',
        depth,
      );
    if (!(value instanceof Dict))
      throw renderFault(`Object of type ${typeName(value)} is not JSON serializable`);
    const entries: Value[] = value.entries().map((entry) => new Tuple(entry));
    const sorted = sortValues(entries, this.budget, {
      key: (entry) => (entry instanceof Tuple ? (entry.items[0] ?? null) : null),
    });
    const parts = sorted.map((entry) => {
      const [key = null, item = null] = entry instanceof Tuple ? entry.items : [];
      return `${this.key(key)}: ${this.write(item, depth + 1)}`;
    });
    return this.wrap('{', parts, '}', depth);
  }

  private key(key: Value): string {
    if (isText(key)) return this.text(textOf(key));
    if (key === null || typeof key === 'boolean') return `"${String(key)}"`;
    if (isFloat(key)) return `"${floatJson(asNumber(key) ?? 0)}"`;
    if (typeof key === 'number' || typeof key === 'bigint') return `"${str(key, this.budget)}"`;
    throw renderFault(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  }

  private text(text: string): string {
    this.budget.allocate(text.length);
    return asciiJson(text);
  }

  private wrap(open: string, parts: string[], close: string, depth: number): string {
    if (this.indent === undefined || parts.length === 0) return open + parts.join(', ') + close;
    this.budget.allocate(parts.length * this.indent.length * (depth + 1));
    const pad = `\n${this.indent.repeat(depth + 1)}`;
    return `${open}${pad}${parts.join(`,${pad}`)}\n${this.indent.repeat(depth)}${close}`;
  }
}

function asciiJson(text: string): string {
  return JSON.stringify(text).replace(
    /[\x7f-\uffff]/g,
    (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function floatJson(value: number): string {
  if (Number.isFinite(value)) return floatText(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
}

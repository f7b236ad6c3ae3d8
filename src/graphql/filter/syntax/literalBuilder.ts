import type { Position } from './errors.js';
import type { ListItem, Literal, LiteralClass, NumberSize } from './tree.js';

const INT4_LIMIT = 2_147_483_648n;
const INT8_LIMIT = 9_223_372_036_854_775_808n;

/** The smallest type that holds the number as written. */
function numberSize(text: string): NumberSize {
  if (!/^-?\d+$/.test(text)) return 'numeric';
  const value = BigInt(text);
  if (value >= -INT4_LIMIT && value < INT4_LIMIT) return 'int4';
  return value >= -INT8_LIMIT && value < INT8_LIMIT ? 'int8' : 'numeric';
}

/** The smallest n such that it has at most 32 · 10ⁿ characters. */
function textSize({ length }: string): number {
  return length <= 32 ? 0 : Math.ceil(Math.log10(length / 32));
}

function itemClass(item: ListItem): LiteralClass | null {
  if (item.kind === 'number') return numberSize(item.text);
  return item.kind === 'null' ? null : item.kind;
}

/** Collects literals while the tree is built, in source order. */
export class LiteralBuilder {
  readonly literals: Literal[] = [];

  number(at: Position, text: string): { index: number; size: NumberSize } {
    return { index: this.literals.push({ kind: 'number', at, text }) - 1, size: numberSize(text) };
  }

  text(at: Position, text: string): { index: number; size: number } {
    return { index: this.literals.push({ kind: 'text', at, text }) - 1, size: textSize(text) };
  }

  list(
    at: Position,
    items: readonly ListItem[],
  ): { index: number; classes: LiteralClass[]; hasNull: boolean } {
    const classes = new Set(items.map(itemClass));
    const hasNull = classes.delete(null);
    return {
      index: this.literals.push({ kind: 'list', at, items }) - 1,
      classes: [...classes].filter((c) => c !== null).sort(),
      hasNull,
    };
  }
}

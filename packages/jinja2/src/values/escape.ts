import type { Budget } from '../limits.js';
import { str } from './text.js';
import { Markup, PyObject, type Text, type Value } from './value.js';

const SPECIAL = /[&<>'"]/;

/** Escapes HTML's five special characters as MarkupSafe does. */
export function escapeHtml(text: string): string {
  if (!SPECIAL.test(text)) return text;
  let out = '';
  let from = 0;
  for (let i = 0; i < text.length; i++) {
    const entity = entityOf(text.charCodeAt(i));
    if (entity === undefined) continue;
    out += text.slice(from, i) + entity;
    from = i + 1;
  }
  return out + text.slice(from);
}

function entityOf(code: number): string | undefined {
  switch (code) {
    case 38:
      return '&amp;';
    case 60:
      return '&lt;';
    case 62:
      return '&gt;';
    case 39:
      return '&#39;';
    case 34:
      return '&#34;';
    default:
      return undefined;
  }
}

/** The HTML of a value: escaped, unless it is already markup. */
export function htmlOf(value: Value, budget: Budget): string {
  if (typeof value === 'string') {
    if (value.length > 64) budget.allocate(value.length);
    return escapeHtml(value);
  }
  if (typeof value === 'number') return str(value, budget);
  if (value instanceof Markup) return value.text;
  return (value instanceof PyObject ? value.markup?.() : undefined) ?? escapeHtml(str(value, budget));
}

/** MarkupSafe's `escape(value)`. */
export function escape(value: Value, budget: Budget): Markup {
  return value instanceof Markup ? value : new Markup(htmlOf(value, budget));
}

/** MarkupSafe's `soft_str(value)`: text unchanged, anything else as a str. */
export function softText(value: Value, budget: Budget): Text {
  return typeof value === 'string' || value instanceof Markup ? value : str(value, budget);
}

/** A result of the same kind as its origin: markup stays markup. */
export function like(origin: Text, text: string): Text {
  return origin instanceof Markup ? new Markup(text) : text;
}

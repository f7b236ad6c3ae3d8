import type { WireValue } from './wireMessages.js';

/** A parameter in PostgreSQL's text format, except that bytes stay bytes. */
export function wireText(value: unknown): WireValue {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value;
  if (Array.isArray(value)) return arrayText(value);
  return scalarText(value);
}

/** `{1,"two",NULL,{3}}` */
function arrayText(items: readonly unknown[]): string {
  return `{${items.map(itemText).join(',')}}`;
}

function itemText(item: unknown): string {
  if (item === null || item === undefined) return 'NULL';
  if (Array.isArray(item)) return arrayText(item);
  const text = Buffer.isBuffer(item) ? `\\x${item.toString('hex')}` : scalarText(item);
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

function scalarText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'bigint':
    case 'boolean':
      return String(value);
    default:
      return value instanceof Date ? value.toISOString() : JSON.stringify(value);
  }
}

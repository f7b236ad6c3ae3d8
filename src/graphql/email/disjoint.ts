import type { Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';
import type { FilterNode } from '../filter/syntax/tree.js';

/**
 * Whether two conditions obviously never hold for the same change: each requires another text, number or boolean of the same
 * column. Of others it is not known. Nothing is known of a condition that doesn't parse either.
 */
export function areDisjoint(table: Table, a: string, b: string): boolean {
  const [of, others] = [requiredBy(table, a), requiredBy(table, b)];
  return [...of].some(([path, value]) => (others.get(path) ?? value) !== value);
}

/** The values that columns must have, by path. */
function requiredBy(table: Table, condition: string): ReadonlyMap<string, string> {
  const required = new Map<string, string>();
  const parsed = parsedOrNothing(condition);
  if (!parsed) return required;
  const { tree, literals } = parsed;
  for (const node of tree.kind === 'and' ? tree.items : [tree]) {
    if (node.kind !== 'compare' || node.operator !== '=' || node.left.kind !== 'path') continue;
    const [record = '', name = '', ...further] = node.left.names;
    const type = table.columns.get(name)?.type;
    const value = type && valueOf(node.right, literals, EXACT.has(type.sqlType) || type.kind === 'enum');
    // A collection's rows may have several values.
    if (value !== undefined && further.length === 0 && !type?.array) required.set(`${record}.${name}`, value);
  }
  return required;
}

function parsedOrNothing(condition: string): ParsedFilter | undefined {
  try {
    return parseFilter(condition);
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** Texts of these are equal only if they are the same: citext ignores case, and char trailing spaces. */
const EXACT: ReadonlySet<string> = new Set(['text', 'varchar']);

/** 1 and 1.0 are the same number, so only whole ones are compared. */
function valueOf(
  node: FilterNode,
  literals: ParsedFilter['literals'],
  isExactText: boolean,
): string | undefined {
  if (node.kind === 'boolean') return String(node.value);
  if (node.kind !== 'text' && node.kind !== 'number') return undefined;
  const literal = literals[node.index];
  if (literal?.kind === 'text' && isExactText) return literal.text;
  return literal?.kind === 'number' && node.kind === 'number' && node.size !== 'numeric'
    ? String(BigInt(literal.text))
    : undefined;
}

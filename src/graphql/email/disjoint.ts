import type { ColumnType, Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { parseFilter, type ParsedFilter } from '../filter/syntax/parser.js';
import type { FilterNode } from '../filter/syntax/tree.js';

/** A text, number or boolean that a column must have. */
interface Required {
  readonly column: string;
  readonly value: string;
  readonly isText: boolean;
}

/** What a condition requires of columns, by path, whatever its table. Nothing is known of one that doesn't parse. */
export type Requirements = ReadonlyMap<string, Required>;

export function requirementsOf(condition: string): Requirements {
  const required = new Map<string, Required>();
  const parsed = parsedOrNothing(condition);
  if (!parsed) return required;
  const { tree, literals } = parsed;
  for (const node of tree.kind === 'and' ? tree.items : [tree]) {
    if (node.kind !== 'compare' || node.operator !== '=' || node.left.kind !== 'path') continue;
    const [record = '', column = '', ...further] = node.left.names;
    const value = valueOf(node.right, literals);
    if (value !== undefined && further.length === 0)
      required.set(`${record}.${column}`, { column, value, isText: node.right.kind === 'text' });
  }
  return required;
}

/**
 * Whether two conditions obviously never hold for the same change: each requires another value of the same column. Of others it
 * is not known.
 */
export function areDisjoint(table: Table, a: Requirements, b: Requirements): boolean {
  for (const [path, { column, value, isText }] of a) {
    const other = b.get(path);
    const type = table.columns.get(column)?.type;
    // A collection's rows may have several values.
    if (!other || other.value === value || !type || type.array) continue;
    if (isExact(type) || !(isText || other.isText)) return true;
  }
  return false;
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

const isExact = ({ sqlType, kind }: ColumnType): boolean => EXACT.has(sqlType) || kind === 'enum';

/** 1 and 1.0 are the same number, so only whole ones are compared. */
function valueOf(node: FilterNode, literals: ParsedFilter['literals']): string | undefined {
  if (node.kind === 'boolean') return String(node.value);
  if (node.kind !== 'text' && node.kind !== 'number') return undefined;
  const literal = literals[node.index];
  if (literal?.kind === 'text') return literal.text;
  return literal?.kind === 'number' && node.kind === 'number' && node.size !== 'numeric'
    ? String(BigInt(literal.text))
    : undefined;
}

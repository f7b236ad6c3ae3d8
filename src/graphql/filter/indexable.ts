import type { ColumnType, TypeKind } from '../../db/catalog/catalog.js';
import type { Value } from './environment.js';

/** Types whose comparisons PostgreSQL marks as leakproof; not numeric, enums, json and lists. */
const LEAKPROOF: ReadonlySet<TypeKind> = new Set<TypeKind>([
  'integer',
  'bigint',
  'float',
  'boolean',
  'text',
  'uuid',
  'date',
  'time',
  'timestamp',
  'timestamptz',
  'interval',
  'bytea',
]);

/** Whether an index may answer `=` and `<` between these, by operators that are leakproof: a column and constants of its type. */
export function comparesIndexed(values: readonly Value[]): boolean {
  const [column, ...others] = values.filter(({ operand }) => operand === 'indexed');
  if (!column || others.length > 0 || !LEAKPROOF.has(column.type.kind)) return false;
  return values.every((value) => value === column || (value.operand === 'constant' && alike(value, column)));
}

/** Operators of unlike types convert one side, which may fail. */
function alike({ type }: Value, column: Value): boolean {
  return kindOf(type) === kindOf(column.type);
}

/** Whole numbers of all sizes compare with each other. */
function kindOf({ kind }: ColumnType): TypeKind {
  return kind === 'bigint' ? 'integer' : kind;
}

import type { ColumnType, TypeKind } from '../../../db/catalog/catalog.js';
import type { Value } from '../environment.js';

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

/** Whether an index may serve `=` and `<` between these with leakproof operators: one column, and constants of its type. */
export function comparesIndexed(values: readonly Value[]): boolean {
  const [column, ...others] = values.filter(({ operand }) => operand === 'indexed');
  if (!column || others.length > 0 || !LEAKPROOF.has(column.type.kind)) return false;
  return values.every((value) => value === column || (value.operand === 'constant' && alike(value, column)));
}

/** Operators on different types convert one side, which may fail. */
function alike({ type }: Value, column: Value): boolean {
  return kindOf(type) === kindOf(column.type);
}

/** Integers of all sizes can be compared without conversion. */
function kindOf({ kind }: ColumnType): TypeKind {
  return kind === 'bigint' ? 'integer' : kind;
}

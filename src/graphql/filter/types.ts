import type { ColumnType, TypeKind } from '../../db/catalog/catalog.js';

/** Types that can be compared with each other. `moment` is a date or a timestamp, with or without a time zone. */
export type Family =
  | 'number'
  | 'text'
  | 'boolean'
  | 'moment'
  | 'time'
  | 'interval'
  | 'uuid'
  | 'json'
  | 'bytea'
  | 'enum'
  | 'other'
  | 'array';

const FAMILIES: Readonly<Record<TypeKind, Family>> = {
  integer: 'number',
  bigint: 'number',
  float: 'number',
  numeric: 'number',
  boolean: 'boolean',
  text: 'text',
  uuid: 'uuid',
  date: 'moment',
  time: 'time',
  timestamp: 'moment',
  timestamptz: 'moment',
  interval: 'interval',
  json: 'json',
  bytea: 'bytea',
  enum: 'enum',
  other: 'other',
};

/** Other types with operators of their own; the rest are compared as text. */
const NATIVE_OTHERS = new Set(
  (
    'inet cidr macaddr macaddr8 bit varbit money citext ltree pg_lsn oid isbn issn ' +
    'int4range int8range numrange daterange tsrange tstzrange'
  )
    .split(' ')
    .flatMap((name) => [name, `"${name}"`]),
);

const plain = (kind: TypeKind, sqlType: string): ColumnType => ({ kind, sqlType, array: false });

/** Types of expressions other than columns. */
export const TYPES = {
  int4: plain('integer', 'int4'),
  int8: plain('bigint', 'int8'),
  numeric: plain('numeric', 'numeric'),
  float8: plain('float', 'float8'),
  boolean: plain('boolean', 'bool'),
  text: plain('text', 'text'),
  date: plain('date', 'date'),
  timestamp: plain('timestamp', 'timestamp'),
  timestamptz: plain('timestamptz', 'timestamptz'),
  interval: plain('interval', 'interval'),
  jsonb: plain('json', 'jsonb'),
} as const;

export function family(type: ColumnType): Family {
  return type.array ? 'array' : FAMILIES[type.kind];
}

export function elementOf(type: ColumnType): ColumnType {
  return { ...type, array: false };
}

/** Whether values may be long: those of numeric have up to 147,455 digits. */
export function isLong({ kind, array }: ColumnType): boolean {
  return array || ['text', 'json', 'bytea', 'numeric', 'other'].includes(kind);
}

/** The type's name for error messages. */
export function describe(type: ColumnType): string {
  if (type.array) return `a list of ${type.kind}`;
  if (type.kind === 'other') return type.sqlType;
  return type.kind === 'enum' ? 'an enum' : type.kind;
}

/** Whether PostgreSQL has `=` and `<` for a type of kind `other`. */
export function isNative(type: ColumnType): boolean {
  return type.kind !== 'other' || NATIVE_OTHERS.has(type.sqlType.slice(type.sqlType.lastIndexOf('.') + 1));
}

export function comparable(a: ColumnType, b: ColumnType): boolean {
  if (a.array !== b.array || FAMILIES[a.kind] !== FAMILIES[b.kind]) return false;
  return a.kind === 'enum' || a.kind === 'other' || a.array ? a.sqlType === b.sqlType : true;
}

/** Whether the type supports `<` and ORDER BY. */
export function orderable(type: ColumnType): boolean {
  return !type.array && type.kind !== 'json' && isNative(type);
}

/** Whether LIKE and the text functions accept the type. */
export function textual(type: ColumnType): boolean {
  return (
    !type.array && (type.kind === 'text' || type.kind === 'enum' || type.kind === 'uuid' || isCitext(type))
  );
}

export function isCitext(type: ColumnType): boolean {
  return /(^|\.)"?citext"?$/.test(type.sqlType);
}

export function isWholeNumber(type: ColumnType): boolean {
  return !type.array && (type.kind === 'integer' || type.kind === 'bigint');
}

const NUMBER_RANKS: Readonly<Partial<Record<TypeKind, number>>> = {
  integer: 1,
  bigint: 2,
  numeric: 3,
  float: 4,
};

/** The type in which PostgreSQL combines two numbers. */
export function widerNumber(a: ColumnType, b: ColumnType): ColumnType {
  const wider = (NUMBER_RANKS[a.kind] ?? 0) >= (NUMBER_RANKS[b.kind] ?? 0) ? a : b;
  if (wider.kind === 'integer') return TYPES.int4;
  return wider.kind === 'float' ? TYPES.float8 : wider;
}

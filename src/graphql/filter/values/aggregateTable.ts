import type { ColumnType } from '../../../db/catalog/catalog.js';
import { identifier, sql, type Sql } from '../../../db/sql/sql.js';
import { family, isWholeNumber, orderable, TYPES } from '../types.js';

/** An aggregate function. */
export interface Aggregate {
  /** Undefined if the aggregate doesn't support the type. */
  readonly result: (type: ColumnType) => ColumnType | undefined;
  readonly write: (value: Sql, type: ColumnType) => Sql;
}

const ordered = (type: ColumnType): ColumnType | undefined =>
  orderable(type) && !['boolean', 'uuid', 'bytea', 'other'].includes(type.kind) ? type : undefined;

/** PostgreSQL doesn't add up oids. */
const isAddable = (type: ColumnType): boolean => family(type) === 'number' && type.sqlType !== 'oid';

/** A type with operators of its own has its aggregates beside them. */
const schemaOf = ({ operators, array }: ColumnType): Sql =>
  operators === undefined || array ? sql`pg_catalog` : identifier(operators);

/** Aggregates of filters and of the `Aggregates` field, by name. */
export const AGGREGATES: ReadonlyMap<string, Aggregate> = new Map<string, Aggregate>([
  ['min', { result: ordered, write: (x, type) => sql`${schemaOf(type)}.min(${x})` }],
  ['max', { result: ordered, write: (x, type) => sql`${schemaOf(type)}.max(${x})` }],
  [
    'avg',
    {
      result: (type) => {
        if (isAddable(type)) return type.kind === 'float' ? TYPES.float8 : TYPES.numeric;
        return family(type) === 'interval' ? type : undefined;
      },
      write: (x) => sql`pg_catalog.avg(${x})`,
    },
  ],
  [
    'sum',
    {
      result: (type) => {
        if (isAddable(type) && isWholeNumber(type))
          return type.kind === 'integer' ? TYPES.int8 : TYPES.numeric;
        return isAddable(type) || family(type) === 'interval' ? type : undefined;
      },
      write: (x) => sql`pg_catalog.sum(${x})`,
    },
  ],
  ['count', { result: () => TYPES.int8, write: (x) => sql`pg_catalog.count(${x})` }],
]);

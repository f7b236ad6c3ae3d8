/** A tenant's PostgreSQL schema as GraphQL and the compilers see it. Plain data, immutable. */
export interface Catalog {
  /** Equal versions describe equal schemas. */
  readonly version: string;
  /** The PostgreSQL schema. */
  readonly schema: string;
  /** By GraphQL name. */
  readonly tables: ReadonlyMap<string, Table>;
  /** Messages for the tenant's administrator, such as names that collide or can't be served. */
  readonly problems: readonly string[];
}

export interface Table {
  /** GraphQL name; equals `sqlName` if that is legal in GraphQL. */
  readonly name: string;
  readonly schema: string;
  readonly sqlName: string;
  readonly kind: 'table' | 'view';
  /** Its partitions are not in the catalog. */
  readonly partitioned?: boolean;
  /** It has columns that the tenant's role may not read. They are not in the catalog, and the table is read-only. */
  readonly hidesColumns?: boolean;
  /** By GraphQL name, in the table's column order. */
  readonly columns: ReadonlyMap<string, Column>;
  /** Empty for views and for tables without one, which are read-only. */
  readonly primaryKey: readonly Column[];
  /** Unique keys besides the primary key, for `onconflict`. */
  readonly uniqueKeys?: readonly UniqueKey[];
  /** SQL names of the columns of checks and foreign keys, by constraint name. */
  readonly constraints?: ReadonlyMap<string, readonly string[]>;
  /** By GraphQL field name. */
  readonly relations: ReadonlyMap<string, Relation>;
  /** For a file table: the column that holds each row's newest file, or a primary key column, which uploads don't write. */
  readonly fileColumn?: Column;
}

export interface UniqueKey {
  readonly columns: readonly Column[];
  /** Whether a null equals another. */
  readonly nullsNotDistinct: boolean;
}

/** The column that only uploads write; undefined if the file column is part of the key. */
export function namedFileColumn({ fileColumn }: Table): Column | undefined {
  return fileColumn?.inPrimaryKey === false ? fileColumn : undefined;
}

export interface Column {
  readonly name: string;
  readonly sqlName: string;
  readonly type: ColumnType;
  readonly nullable: boolean;
  /** Has a default, is an identity or is generated: may be omitted on insert. */
  readonly hasDefault: boolean;
  /** Always computed by PostgreSQL, never written. */
  readonly generated: boolean;
  readonly inPrimaryKey: boolean;
  readonly inForeignKey: boolean;
  /** First column of a btree or hash index over all rows. */
  readonly indexed: boolean;
  /** For a column of a control table: the function of the control schema whose result filters use in its place. */
  readonly searchedAs?: string;
}

/** How values of a PostgreSQL type are compared, written and shown. */
export interface ColumnType {
  /** The type as SQL writes it in a cast: `int4`, `varchar`, `"shop"."mood"`; of the element for arrays. */
  readonly sqlType: string;
  readonly kind: TypeKind;
  readonly array: boolean;
  /** An array whose items are of a domain, which PostgreSQL doesn't compare with one of its base type. */
  readonly ofDomain?: boolean;
  /** The name of its domain, or of that of its items, as errors report it. */
  readonly domain?: string;
  /** For arrays declared with more than one dimension. */
  readonly dimensions?: number;
  /** For varchar(n) and numeric(p, s). */
  readonly bounds?: {
    readonly length?: number;
    readonly precision?: number;
    readonly scale?: number;
    readonly bits?: number;
    readonly maxBits?: number;
  };
  /** Labels of an enum, in its order. There may be thousands. */
  readonly enumLabels?: ReadonlySet<string>;
  /** The schema of the type's own `=` and `<`, if that is not pg_catalog: citext's, for instance. */
  readonly operators?: string;
  /** It brings a cast to json, which may fail: its values are shown as text instead. */
  readonly castsToJson?: boolean;
  /** Its text may depend on the time zone of the session, which is not UTC. */
  readonly zoned?: boolean;
  /** A row type, rendered as a JSON object. */
  readonly composite?: boolean;
  /** The fields of a row type, if they are known. */
  readonly fields?: CompositeFields;
  /** Whether a field of a row type is a numeric, at whatever depth. */
  readonly holdsNumeric?: boolean;
}

/** By name, in order. */
export type CompositeFields = ReadonlyMap<string, ColumnType>;

/** The operators and literals that a type supports in filters and inputs. */
export type TypeKind =
  | 'integer'
  | 'bigint'
  | 'float'
  | 'numeric'
  | 'boolean'
  | 'text'
  | 'uuid'
  | 'date'
  | 'time'
  | 'timestamp'
  | 'timestamptz'
  | 'interval'
  | 'json'
  | 'bytea'
  | 'enum'
  | 'other';

export type Relation = ToOne | ToMany | ManyToMany;

/** This table's foreign key points at one row of the target. */
export interface ToOne {
  readonly kind: 'to-one';
  readonly field: string;
  /** GraphQL name of the other table. */
  readonly target: string;
  readonly pairs: readonly ColumnPair[];
}

/** The target's foreign key points at this table, so its rows form a collection. */
export interface ToMany {
  readonly kind: 'to-many';
  readonly field: string;
  readonly target: string;
  readonly pairs: readonly ColumnPair[];
}

/** Through a join table whose primary key consists of its two foreign keys. */
export interface ManyToMany {
  readonly kind: 'many-to-many';
  readonly field: string;
  readonly target: string;
  /** GraphQL name of the join table. */
  readonly through: string;
  /** This table's column and the join table's. */
  readonly nearPairs: readonly ColumnPair[];
  /** The join table's column and the target's. */
  readonly farPairs: readonly ColumnPair[];
}

/** SQL names of columns that must be equal: `here` on this side, `there` on the other. */
export interface ColumnPair {
  readonly here: string;
  readonly there: string;
  /** Their type, if it has operators of its own. */
  readonly type?: ColumnType;
}

import type { GraphQLInputType, GraphQLOutputType } from 'graphql';
import type { Principal } from '../../db/principal.js';
import type { Sql } from '../../db/sql.js';
import type { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';

/**
 * One object of /roles_pbac. From it follow its row type, its GraphQL types, what lists select, filter and order by, the
 * list, the three mutations with their SQL, its table in docs/control-objects.md and its rows in docs/security.md.
 * What is particular to an object are functions; those throw AppErrors.
 */
export interface ControlObject<C extends Columns = Columns> {
  /** The table in the schema `rowpost`, the field of Query and the GraphQL type. */
  readonly table: string;
  /** A view that is read in place of the table after a mutation. */
  readonly view?: string;
  /** In create_<one>, update_<one> and delete_<one>; the table's name when left out. */
  readonly one?: string;
  /** In error messages. */
  readonly label: string;
  readonly description?: string;
  readonly columns: C;
  readonly key: readonly (keyof C & string)[];
  /** Between the values of a key of two columns, in error messages. */
  readonly keySeparator?: string;
  /** Rows of other objects that it leads to, besides columns with `shows`. */
  readonly relations?: Readonly<Record<string, Related>>;
  /** The first fields of the input type, where they come in another order than the columns. */
  readonly inputOrder?: readonly (keyof C & string)[];
  /** False when it is reached through other objects only. */
  readonly listed?: false;
  /** False when its rows belong to the installation: the key alone finds one. */
  readonly ofTenant?: false;
  /** The column that says when a row was deleted that is kept for a while. */
  readonly removed?: string;

  /** The rows that a principal sees, at every level of a list. */
  visible(principal: Principal, row: Sql): Sql | 'all' | 'none';
  /** For lists that not everybody may read. */
  mayList?(principal: Principal): unknown;
  /** Without it the service alone writes the table. */
  mayChange?(principal: Principal, change: ChangeName): unknown;
  /** The mutations that there are; all three when left out. */
  readonly changes?: readonly ChangeName[];
  /** Whether a change of it changes what roles may do. */
  readonly decidesRights?: true;

  /** Before the input is read, once the row is found. */
  authorize?(change: Change<C>): unknown;
  /** Checks that concern several columns. */
  check?(change: CheckedChange<C>): unknown;
  /** What is written elsewhere, in the same transaction. */
  afterWrite?(change: CheckedChange<C>, key: Key): Promise<void>;
  beforeDelete?(context: ControlContext, row: RowOf<C>): Promise<void>;
  /** When other rows refer to the row that is to go. */
  inUse?(row: RowOf<C>): AppError;
  /** When what the row refers to has gone since it was checked. */
  referenceLost?(row: RowOf<C>): AppError;
  readonly deleteDescription?: string;

  /** In place of the steps that all objects share. `find` throws NOT_FOUND. */
  readonly own?: {
    readKey?(context: ControlContext, given: Readonly<Record<string, string>>): Promise<Key>;
    create?(context: ControlContext, given: InputOf<C>): Promise<Key>;
    /** The statement alone. */
    insert?(context: ControlContext, row: RowOf<C>): Promise<Key>;
    update?(context: ControlContext, key: Key, given: InputOf<C>, find: () => Promise<object>): Promise<void>;
    /** @returns the row as it was; undefined when it is still there to be shown. */
    delete?(context: ControlContext, key: Key, find: () => Promise<object>): Promise<object | undefined>;
  };
}

export type ChangeName = 'create' | 'update' | 'delete';
export type Columns = Readonly<Record<string, Column>>;
/** The values of the key's columns. */
export type Key = Readonly<Record<string, string | number>>;

/** One column: what clients see of it, what they give, and what is checked. */
export interface Column {
  readonly type: keyof SqlValues;
  readonly description?: string;
  /** The type of its field where that does not follow from `type`. Null: filters know it, and no field shows it. */
  readonly output?: GraphQLOutputType | null;
  /** In place of ids, the rows that have them. */
  readonly shows?: Related;
  /** Filters look at this function of the column: see `Column.searchedAs` of the catalog. */
  readonly searchedAs?: string;

  /** Whether clients give it: true, the description, or the type where that is not the field's. */
  readonly input?: true | string | { readonly type: GraphQLInputType; readonly description?: string };
  /** Never null, so it must be given, and not empty. */
  readonly required?: true;
  /** What it is when it is left out or null. */
  readonly fallback?: unknown;
  /** The texts that it may be; the first is the fallback. */
  readonly oneOf?: readonly [string, ...string[]];
  /** Makes the stored value of the given one. */
  readonly read?: (given: never, field: string, context: ControlContext) => unknown;
  /** In an update null leaves it as it is. */
  readonly nullKeeps?: true;
  /** Throws when what the value names is not there. */
  readonly references?: (context: ControlContext, values: never, field: string) => Promise<unknown>;
  /** No two rows of the tenant, or of the installation, have the same. */
  readonly unique?: true;
  /** What every update sets it to. */
  readonly resetTo?: null;

  /** Stored encrypted in `<column>_encrypted`, with a new `<column>_uuid`; shown by its creation alone. */
  readonly secret?: true;
  /** Of rows as the service reads them; clients don't know it. */
  readonly internal?: true;
  /** Not written with the row: it is made of other rows. */
  readonly derived?: true;
  /** There is no such column: the input gives it to the object's own functions. */
  readonly inputOnly?: true;
}

/** Rows of another object. Pairs are SQL names of columns that are equal: here on this side, there on the other. */
export interface Related {
  readonly kind: 'to-one' | 'to-many' | 'many-to-many';
  readonly target: string;
  readonly description?: string;
  /** Of to-one and to-many; of many-to-many to the table between. */
  readonly pairs: Pairs;
  readonly through?: { readonly table: string; readonly pairs: Pairs };
  /** After a mutation all rows are shown, whatever the arguments of the list. */
  readonly wholeAfterMutation?: true;
}
export type Pairs = Readonly<Record<string, string>>;

/** What is known of a change once it is authorized. */
export interface Change<C extends Columns = Columns> {
  readonly context: ControlContext;
  readonly given: InputOf<C>;
  /** Undefined for a new row. */
  readonly before: RowOf<C> | undefined;
}
export interface CheckedChange<C extends Columns = Columns> extends Change<C> {
  /** The row as it will be. */
  readonly row: RowOf<C>;
}

/** Types of columns, and their values as JSON has them. */
interface SqlValues {
  int4: number;
  int8: number;
  bool: boolean;
  text: string;
  uuid: string;
  timestamptz: string;
  json: unknown;
  jsonb: unknown;
  'text[]': readonly string[];
  'int4[]': readonly number[];
}

/** A row as the API shows it and the service reads it. */
export type RowOf<C extends Columns> = {
  readonly [K in keyof C as C[K] extends { inputOnly: true } | { secret: true } ? never : K]: ValueOf<C[K]>;
};
type ValueOf<C extends Column> = C extends { read: (...given: never[]) => infer Value }
  ? Value | Absent<C>
  : C extends { oneOf: readonly (infer Value)[] }
    ? Value
    : SqlValues[C['type']] | Absent<C>;
type Absent<C extends Column> = C extends { required: true } | { fallback: unknown } ? never : null;

/** The input as GraphQL has read it: all of it may be left out, and be null. */
export type InputOf<C extends Columns> = {
  readonly [K in keyof C as C[K] extends { input: unknown } ? K : never]?: GivenOf<C[K]> | null;
};
type GivenOf<C extends Column> = SqlValues[C['type']] extends readonly (infer Item)[]
  ? readonly (Item | null)[]
  : SqlValues[C['type']];

/** An object whose row type is known. */
export type Declared<C extends Columns> = ControlObject & { readonly columns: C };
/** The row of an object: `Row<typeof policyRule>`. */
export type Row<O extends ControlObject> = RowOf<O['columns']>;

/** The declaration as it is. Its functions are checked against the types of its own columns. */
export function controlObject<const C extends Columns>(declaration: ControlObject<C>): Declared<C> {
  return declaration as unknown as Declared<C>;
}

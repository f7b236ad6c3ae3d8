import type { GraphQLInputType, GraphQLOutputType } from 'graphql';
import type { Principal } from '../../db/roles/principal.js';
import type { Sql } from '../../db/sql/sql.js';
import type { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import type { Check } from './checkAll.js';

/**
 * Declares one object of /roles_pbac. Everything else is derived from it: the row type, the GraphQL types, what lists
 * select, filter and order by, the list and the three mutations with their SQL, its table in docs/reference/roles_pbac.md and
 * its rows in docs/reference/permissions.md. Behavior specific to an object is given as functions, which throw AppErrors.
 */
export interface ControlObject<C extends Columns = Columns> {
  /** The table in the schema `rowpost`, the field of Query and the GraphQL type. */
  readonly table: string;
  /** A view that is read instead of the table after a mutation. */
  readonly view?: string;
  /** The name in create_<singular>, update_<singular> and delete_<singular>; by default the table's. */
  readonly singular?: string;
  /** In error messages. */
  readonly label: string;
  readonly description?: string;
  readonly columns: C;
  readonly key: readonly (keyof C & string)[];
  /** Separates the values of a two-column key in error messages. */
  readonly keySeparator?: string;
  /** Related rows of other objects, besides columns with `shows`. */
  readonly relations?: Readonly<Record<string, Related>>;
  /** The first fields of the input type, if their order differs from that of the columns. */
  readonly inputOrder?: readonly (keyof C & string)[];
  /** False if it is only reachable through other objects. */
  readonly listed?: false;
  /** False if its rows belong to the installation and are found by key alone. */
  readonly ofTenant?: false;
  /** The column with the deletion time, if deleted rows are kept for a while. */
  readonly removed?: string;

  /** The rows that a principal sees, at every level of a list. */
  visible(principal: Principal, row: Sql): Sql | 'all' | 'none';
  /** Restricts access to the list. */
  mayList?(principal: Principal): unknown;
  /** If absent, only the service writes to the table. */
  mayChange?(principal: Principal, change: ChangeName): unknown;
  /** The supported mutations; all three by default. */
  readonly changes?: readonly ChangeName[];

  /** Called once the row is found, before the input is read. */
  authorize?(change: Change<C>): unknown;
  /** The input with what it leaves out and can be known, before it is read. */
  complete?(change: Change<C>): InputOf<C>;
  /** Checks that don't depend on each other. The row lacks the columns that could not be read, which are reported with these. */
  checks?(change: CheckedChange<C>): Iterable<Check>;
  /** Checks that concern several columns. */
  check?(change: CheckedChange<C>): unknown;
  /** As `check`; returns values of further columns to store, which clients don't provide. */
  derive?(change: CheckedChange<C>): Promise<Partial<RowOf<C>>>;
  /** Further writes in the same transaction. */
  afterWrite?(change: CheckedChange<C>, key: Key): Promise<void>;
  beforeDelete?(context: ControlContext, row: RowOf<C>): Promise<void>;
  /** The error if other rows refer to the row being deleted. */
  inUse?(row: RowOf<C>): AppError;
  /** The error if a referenced row was deleted after the check. */
  referenceLost?(row: RowOf<C>): AppError;
  readonly deleteDescription?: string;

  /** Replaces the steps shared by all objects. `find` throws NOT_FOUND. */
  readonly overrides?: {
    readKey?(context: ControlContext, given: Readonly<Record<string, string>>): Promise<Key>;
    create?(context: ControlContext, given: InputOf<C>): Promise<Key>;
    /** Replaces only the INSERT statement. */
    insert?(context: ControlContext, row: RowOf<C>): Promise<Key>;
    update?(context: ControlContext, key: Key, given: InputOf<C>, find: () => Promise<object>): Promise<void>;
    /** @returns the deleted row; undefined if it can still be read */
    delete?(context: ControlContext, key: Key, find: () => Promise<object>): Promise<object | undefined>;
  };
}

export type ChangeName = 'create' | 'update' | 'delete';
export type Columns = Readonly<Record<string, Column>>;
/** The values of the key's columns. */
export type Key = Readonly<Record<string, string | number>>;

/** A column: its output, its input and its checks. */
export interface Column {
  readonly type: keyof SqlValues;
  readonly description?: string;
  /** The type of its field if it can't be derived from `type`. Null for a column that only filters can use. */
  readonly output?: GraphQLOutputType | null;
  /** What clients see instead of the stored value. */
  readonly shown?: (stored: never, context: ControlContext) => unknown;
  /** Shows the rows instead of their ids. */
  readonly shows?: Related;
  /** The function of the column that filters use: see `Column.searchedAs` of the catalog. */
  readonly searchedAs?: string;

  /** Whether clients provide it: true, a description, or the type if it differs from the field's. */
  readonly input?: true | string | { readonly type: GraphQLInputType; readonly description?: string };
  /** Required, and not empty. */
  readonly required?: true;
  /** Of a text that is read often, or for anyone. */
  readonly maxCharacters?: number;
  /** The value if omitted or null. */
  readonly fallback?: unknown;
  /** The allowed values; the first is the default. */
  readonly oneOf?: readonly [string, ...string[]];
  /** Converts the input to the stored value. */
  readonly read?: (given: never, field: string, context: ControlContext) => unknown;
  /** In an update, null means no change. */
  readonly nullMeansUnchanged?: true;
  /** Throws if the referenced object does not exist. */
  readonly references?: (context: ControlContext, values: never, field: string) => Promise<unknown>;
  /** Unique within the tenant, or within the installation. */
  readonly unique?: true;
  /** The value set by every update. */
  readonly resetTo?: null;

  /**
   * Shown only when created. True: stored encrypted in `<column>_encrypted`, with a new `<column>_uuid`. `hash`: made by
   * `overrides.insert`, which returns it with the key, and stored as a hash in `<column>_hash`.
   */
  readonly secret?: true | 'hash';
  /** Internal: not visible to clients. */
  readonly internal?: true;
  /** Not stored in the row, but derived from other rows. */
  readonly derived?: true;
  /** Not a column: passed from the input to the object's own functions. */
  readonly inputOnly?: true;

  /** How the console's form edits it. */
  readonly control?: FormControl;
  /** Instead, if it is an object: how the form edits its members. */
  readonly memberControls?: Readonly<Record<string, FormControl>>;
}

/** A list has one item per line, an object is JSON, a choice is one of `oneOf`, and queries have blocks. */
export interface FormControl {
  readonly kind: 'line' | 'area' | 'list' | 'json' | 'choice' | 'queries';
  readonly label: string;
  readonly note?: string;
  /** What a choice is called, if not by its value. */
  readonly choiceLabels?: Readonly<Record<string, string>>;
}

/** Rows of another object. Pairs are the SQL names of columns that must be equal, from this table to the other one. */
export interface Related {
  readonly kind: 'to-one' | 'to-many' | 'many-to-many';
  readonly target: string;
  readonly description?: string;
  /** For to-one and to-many; for many-to-many, to the join table. */
  readonly pairs: Pairs;
  readonly through?: { readonly table: string; readonly pairs: Pairs };
  /** After a mutation, all rows are returned whatever the list's arguments. */
  readonly wholeAfterMutation?: true;
}
export type Pairs = Readonly<Record<string, string>>;

/** The context of an authorized change. */
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

/** Column types, and their values as represented in JSON. */
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
  readonly [
    K in keyof C as C[K] extends { inputOnly: true } | { secret: true | 'hash' } ? never : K
  ]: ValueOf<C[K]>;
};
type ValueOf<C extends Column> = C extends { read: (...given: never[]) => infer Value }
  ? Value | Absent<C>
  : C extends { oneOf: readonly (infer Value)[] }
    ? Value
    : SqlValues[C['type']] | Absent<C>;
type Absent<C extends Column> = C extends { required: true } | { fallback: unknown } ? never : null;

/** The input as coerced by GraphQL: everything is optional and nullable. */
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

/** Returns the declaration; its functions are type-checked against its own columns. */
export function controlObject<const C extends Columns>(declaration: ControlObject<C>): Declared<C> {
  return declaration as unknown as Declared<C>;
}

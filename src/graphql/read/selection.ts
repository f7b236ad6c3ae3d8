import type { FieldNode } from 'graphql';
import type { Column, Relation, Table } from '../../db/catalog/catalog.js';
import type { Slot } from '../../db/sql.js';
import type { ParsedFilter } from '../filter/parser.js';
import type { ParsedOrdering } from '../ordering/parseOrdering.js';

/** What is selected from the rows of one table: the plan of a read, before SQL. */
export interface RowSelection {
  readonly table: Table;
  readonly fields: readonly SelectedField[];
}

export type SelectedField = SelectedTypename | SelectedColumn | SelectedRelation | SelectedFiles;

export interface SelectedTypename {
  readonly kind: 'typename';
  readonly key: string;
  readonly name: string;
}

export interface SelectedColumn {
  readonly kind: 'column';
  readonly key: string;
  readonly column: Column;
  /** As a string with every digit. */
  readonly asText: boolean;
}

export interface SelectedRelation {
  readonly kind: 'relation';
  readonly key: string;
  readonly node: FieldNode;
  readonly relation: Relation;
  readonly selection: RowSelection;
  /** Of collections. */
  readonly page?: Page;
}

/** The files of the row. */
export interface SelectedFiles {
  readonly kind: 'files';
  readonly key: string;
  readonly table: Table;
  /** Response key and name of each field of a file. */
  readonly fields: readonly (readonly [key: string, name: string])[];
}

/** A filter, and the variable that holds it if it does not stand in the document. */
export interface ListFilter {
  readonly parsed: ParsedFilter;
  readonly variable: string | undefined;
}

/** The arguments of a list. */
export interface Page {
  readonly filter?: ListFilter;
  readonly ordering: ParsedOrdering;
  /** Part of the statement's text. As a parameter the planner would guess it: for children it then walks the primary key. */
  readonly limit: number;
  readonly offset?: Slot;
}

export function hasRelations(selection: RowSelection): boolean {
  return selection.fields.some((field) => field.kind === 'relation');
}

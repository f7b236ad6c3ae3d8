import type { FieldNode } from 'graphql';
import type { Column, Relation, Table } from '../../db/catalog/catalog.js';
import type { Slot } from '../../db/sql/sql.js';
import type { ParsedFilter } from '../filter/syntax/parser.js';
import type { ParsedOrdering } from '../ordering/parseOrdering.js';

/** What to read from the rows of one table: a read's plan before it becomes SQL. */
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
  /** Rendered as a string with every digit. */
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

/** A filter, and the variable that holds it unless it is written in the document. */
export interface ListFilter {
  readonly parsed: ParsedFilter;
  readonly variable: string | undefined;
}

/** The arguments of a list. */
export interface Page {
  readonly filter?: ListFilter;
  readonly ordering: ParsedOrdering;
  /** Part of the statement's text. The planner would have to guess a parameter, and for children would walk the primary key. */
  readonly limit: number;
  readonly offset?: Slot;
}

/** Whether it reads other rows, or files of the row, which a statement that writes the row sees as they were before. */
export function readsOthers(selection: RowSelection): boolean {
  return selection.fields.some(({ kind }) => kind === 'relation' || kind === 'files');
}

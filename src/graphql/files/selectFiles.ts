import type { FieldNode, SelectionSetNode } from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { collectFields } from '../read/collectFields.js';
import type { ReadContext } from '../read/readContext.js';
import type { SelectedFiles } from '../read/selection.js';
import { FILES_FIELD } from './fileTypes.js';

/** Response key and name of each selected field. */
export type FieldNames = readonly (readonly [key: string, name: string])[];

export function fieldNames(
  context: ReadContext,
  typeName: string,
  sets: readonly (SelectionSetNode | undefined)[],
): FieldNames {
  return [...collectFields(context, typeName, sets)].flatMap(([key, [node]]) =>
    node ? [[key, node.name.value] as const] : [],
  );
}

/** `thefiles` of a file table, unless a column has that name. */
export function selectFiles(
  context: ReadContext,
  table: Table,
  key: string,
  nodes: readonly FieldNode[],
): SelectedFiles | undefined {
  if (!table.fileColumn || nodes[0]?.name.value !== FILES_FIELD) return undefined;
  const sets = nodes.map((node) => node.selectionSet);
  return { kind: 'files', key, table, fields: fieldNames(context, 'FileObject', sets) };
}

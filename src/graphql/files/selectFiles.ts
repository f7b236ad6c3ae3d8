import type { FieldNode } from 'graphql';
import type { Table } from '../../db/catalog/catalog.js';
import { collectFields, type FieldNodes } from '../read/collectFields.js';
import type { ReadContext } from '../read/readContext.js';
import type { SelectedFiles } from '../read/selection.js';
import { FILES_FIELD } from './fileTypes.js';

/** Response key and name of each selected field. */
export type FieldNames = readonly (readonly [key: string, name: string])[];

export function fieldNames(context: ReadContext, typeName: string, nodes: readonly FieldNode[]): FieldNames {
  return Array.from(collectFields(context, typeName, nodes), ([key, [node]]) => [key, node.name.value]);
}

/** `thefiles` of a file table, unless a column has that name. */
export function selectFiles(
  context: ReadContext,
  table: Table,
  key: string,
  nodes: FieldNodes,
): SelectedFiles | undefined {
  if (!table.fileColumn || nodes[0].name.value !== FILES_FIELD) return undefined;
  return { kind: 'files', key, table, fields: fieldNames(context, 'FileObject', nodes) };
}

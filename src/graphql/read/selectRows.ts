import { Kind, type FieldNode } from 'graphql';
import type { Column, Relation, Table } from '../../db/catalog/catalog.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { selectFiles } from '../files/selectFiles.js';
import { argumentNode } from './argument.js';
import { collectFields, type FieldNodes } from './collectFields.js';
import { readListArguments } from './listArguments.js';
import { tableNamed, type ReadContext } from './readContext.js';
import type { RowSelection, SelectedField, SelectedRelation } from './selection.js';
import { atField, FieldError } from '../response.js';

/** Turns the selections of one field into what to read from each row. Throws FieldError with a path below `path`. */
export function selectRows(
  context: ReadContext,
  table: Table,
  nodes: readonly FieldNode[],
  path: readonly string[],
): RowSelection {
  const fields: SelectedField[] = [];
  for (const [key, inner] of collectFields(context, table.name, nodes)) {
    const field = selectField(context, table, key, inner, [...path, key]);
    if (field) fields.push(field);
  }
  return { table, fields };
}

function selectField(
  context: ReadContext,
  table: Table,
  key: string,
  nodes: FieldNodes,
  path: readonly string[],
): SelectedField | undefined {
  const [node] = nodes;
  const name = node.name.value;
  if (name === '__typename') return { kind: 'typename', key, name: table.name };
  const column = table.columns.get(name);
  if (column) return { kind: 'column', key, column, asText: isCastToText(context, column, node) };
  const relation = table.relations.get(name);
  if (relation) return selectRelation(context, relation, key, nodes, path);
  const files = selectFiles(context, table, key, nodes);
  if (files) return files;
  if (context.skipUnknown) return undefined;
  throw new FieldError(
    new AppError('GRAPHQL_VALIDATION', `${table.name} has no field ${name}.`),
    path,
    nodes,
  );
}

function selectRelation(
  context: ReadContext,
  relation: Relation,
  key: string,
  nodes: FieldNodes,
  path: readonly string[],
): SelectedRelation {
  const [node] = nodes;
  const selection = selectRows(context, tableNamed(context.catalog, relation.target), nodes, path);
  const base = { kind: 'relation', key, node, relation, selection } as const;
  if (relation.kind === 'to-one') return base;
  return atField(path, nodes, () => ({ ...base, page: readListArguments(context, node) }));
}

/** `amount(cast: text)`, the only value of the enum. */
function isCastToText(context: ReadContext, column: Column, node: FieldNode): boolean {
  const cast = argumentNode(node, 'cast');
  if (column.inPrimaryKey || cast === undefined) return false;
  return cast.kind === Kind.VARIABLE
    ? ownValue(context.variables, cast.name.value) === 'text'
    : cast.kind === Kind.ENUM;
}

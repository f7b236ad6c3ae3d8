import { GraphQLList, Kind, type FieldNode } from 'graphql';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { sql, type Slot, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { argumentNode, argumentSlot, argumentValue } from '../read/argument.js';
import type { FieldNodes } from '../read/collectFields.js';
import { readsOthers } from '../read/selection.js';
import { selectRows } from '../read/selectRows.js';
import { deleteByKey, updateByKey } from './changeSql.js';
import { keySlots } from './keyArgs.js';
import { givenColumns, type InputRow } from './inputValues.js';
import { insertion, manyRows, oneRow, type OnConflict } from './insertSql.js';
import { groupRows } from './rowGroups.js';
import { inputType, type WriteContext } from './writeContext.js';
import { listStatements, rowStatements } from './writeStatements.js';
import type { Returning } from './writtenRow.js';

export interface PlannedMutation {
  readonly table: Table;
  /** The last one returns the result. */
  readonly statements: readonly Sql[];
  /** Whether it changes no existing row. */
  readonly onlyInserts?: boolean;
}

/** Compiles a mutation field. Throws AppError, FieldError. */
export function planMutation(
  context: WriteContext,
  position: number,
  key: string,
  nodes: FieldNodes,
): PlannedMutation {
  const [node] = nodes;
  const { verb, table } = target(context, node.name.value);
  const selection = selectRows(context, table, nodes, [key]);
  const isNextRead = verb !== 'delete' && readsOthers(selection) && isReadable(context, table);
  const returning: Returning = {
    selection,
    path: [key],
    ...(isNextRead ? { keySetting: `rowpost.written_${position}` } : {}),
  };
  const onlyInserts = verb === 'create' && readOnConflict(context, node) !== 'update';
  return { table, statements: statementsOf(context, verb, table, node, returning), onlyInserts };
}

function statementsOf(
  context: WriteContext,
  verb: Verb,
  table: Table,
  node: FieldNode,
  returning: Returning,
): Sql[] {
  switch (verb) {
    case 'create':
      return create(context, table, node, returning);
    case 'create_many':
      return createMany(context, table, node, returning);
    case 'update':
      return update(context, table, node, returning);
    case 'delete':
      return rowStatements(context, deleteByKey(context, table, keySlots(table, 'delete', node)), returning);
  }
}

type Verb = 'create' | 'create_many' | 'update' | 'delete';

/** The result for a row that may not be read is null, and nothing is read for it. */
function isReadable({ access, aliases }: WriteContext, table: Table): boolean {
  return access.predicate(table, aliases.next()) !== 'none';
}

/** `create_many_x` creates many rows of table x, unless there is a table named `many_x`. */
function target(context: WriteContext, field: string): { verb: Verb; table: Table } {
  for (const verb of ['create', 'update', 'delete', 'create_many'] as const) {
    const table = field.startsWith(`${verb}_`)
      ? context.catalog.tables.get(field.slice(verb.length + 1))
      : undefined;
    if (table) return { verb, table };
  }
  throw new AppError('UNKNOWN_TABLE', `There is no table for ${field}.`);
}

function create(context: WriteContext, table: Table, node: FieldNode, returning: Returning): Sql[] {
  const { columns, valueOf } = readInput(context, table, node);
  const onConflict = readOnConflict(context, node);
  return rowStatements(context, insertion(context, table, oneRow(columns, valueOf), onConflict), returning);
}

function update(context: WriteContext, table: Table, node: FieldNode, returning: Returning): Sql[] {
  const { columns, valueOf } = readInput(context, table, node);
  if (columns.length === 0) {
    throw new AppError('BAD_USER_INPUT', 'input must give a column to change.', {
      details: { argument: 'input' },
    });
  }
  const change = updateByKey(context, table, keySlots(table, 'update', node), columns, valueOf);
  return rowStatements(context, change, returning);
}

/** One statement holds all rows. */
function createMany(context: WriteContext, table: Table, node: FieldNode, returning: Returning): Sql[] {
  const argument = argumentNode(node, 'input');
  const type = new GraphQLList(inputType(context, table));
  const onConflict = readOnConflict(context, node);
  const sample = argumentValue(argument, type, context.variables);
  const groups = groupRows(table, sample, argumentSlot(argument, type), onConflict === 'update');
  if (groups.length === 0) return [sql`select '[]'`];
  const insertions = groups.map(({ columns, rows }, index) =>
    insertion(context, table, manyRows(columns, rows), onConflict, `_${index}`),
  );
  return listStatements(context, insertions, returning);
}

/** The columns that the argument `input` gives, and their values. */
function readInput(
  context: WriteContext,
  table: Table,
  node: FieldNode,
): { readonly columns: readonly Column[]; readonly valueOf: (column: Column) => Slot } {
  const argument = argumentNode(node, 'input');
  const type = inputType(context, table);
  const input = argumentSlot(argument, type);
  return {
    columns: givenColumns(table, argumentValue(argument, type, context.variables)),
    valueOf: (column) => (inputs) => ownValue(input(inputs) as InputRow, column.name),
  };
}

function readOnConflict(context: WriteContext, node: FieldNode): OnConflict {
  const argument = argumentNode(node, 'onconflict');
  const value =
    argument?.kind === Kind.VARIABLE
      ? ownValue(context.variables, argument.name.value)
      : argument?.kind === Kind.ENUM
        ? argument.value
        : undefined;
  return value === 'update' || value === 'ignore' ? value : 'fail';
}

import { GraphQLID, GraphQLList, type FieldNode } from 'graphql';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { join, sql, textConstant, type Inputs, type Slot, type Sql } from '../../db/sql.js';
import { AppError } from '../../errors.js';
import { argumentNode, argumentSlot, argumentValue } from '../read/argument.js';
import { selectRows } from '../read/selectRows.js';
import { deleteByKey, updateByKey, type Change } from './changeSql.js';
import { givenColumns, inputRow, type InputRow } from './inputValues.js';
import { insertion, manyRows, oneRow, type Insertion, type OnConflict } from './insertSql.js';
import { inputType, refuse, type WriteContext } from './writeContext.js';
import {
  answerOf,
  keySettingFor,
  keyTexts,
  recorded,
  writtenRowsJson,
  type Returning,
  type WrittenRow,
} from './writtenRow.js';

/** The statements of one mutation field, the last of which gives its answer. Throws AppError, FieldError. */
export function planMutation(
  context: WriteContext,
  position: number,
  key: string,
  nodes: readonly FieldNode[],
): Sql[] {
  const [node] = nodes;
  const { verb, table } = target(context, node?.name.value ?? '');
  if (!node) return [];
  const sets = nodes.map((item) => item.selectionSet);
  const selection = selectRows(context, table, sets, [key]);
  const keys = verb === 'delete' ? {} : keySettingFor(selection, position);
  const returning: Returning = { selection, path: [key], ...keys };
  switch (verb) {
    case 'create':
      return create(context, table, node, returning);
    case 'create_many':
      return createMany(context, table, node, returning);
    case 'update':
      return update(context, table, node, returning);
    case 'delete':
      return statements(context, deleteByKey(context, table, keySlots(node)), returning, refuse('notFound'));
  }
}

type Verb = 'create' | 'create_many' | 'update' | 'delete';

/** `create_many_x` is the list form for table x, unless a table is named `many_x`. */
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
  const argument = argumentNode(node, 'input');
  const type = inputType(context, table);
  const columns = givenColumns(table, argumentValue(argument, type, context.variables));
  const input = argumentSlot(argument, type);
  const onConflict = readOnConflict(context, node);
  const written = insertion(context, table, oneRow(columns, columnOf(input)), onConflict);
  // No row: the conflict is ignored, or the row that is there may not be updated.
  return statements(
    context,
    written,
    returning,
    onConflict === 'update' ? refuse('policyDenied') : sql`'null'`,
  );
}

function update(context: WriteContext, table: Table, node: FieldNode, returning: Returning): Sql[] {
  const argument = argumentNode(node, 'input');
  const type = inputType(context, table);
  const columns = givenColumns(table, argumentValue(argument, type, context.variables));
  if (columns.length === 0) {
    throw new AppError('BAD_USER_INPUT', 'input must give a column to change.', {
      details: { argument: 'input' },
    });
  }
  const change = updateByKey(context, table, keySlots(node), columns, columnOf(argumentSlot(argument, type)));
  return statements(context, change, returning, refuse('notFound'));
}

/** Rows that give the same columns are inserted together; one statement holds them all. */
function createMany(context: WriteContext, table: Table, node: FieldNode, returning: Returning): Sql[] {
  const argument = argumentNode(node, 'input');
  const type = new GraphQLList(inputType(context, table));
  const slot = argumentSlot(argument, type);
  const rowsOf = (value: unknown): readonly InputRow[] => (Array.isArray(value) ? value.map(inputRow) : []);
  const groups = new Map<string, readonly Column[]>();
  for (const row of rowsOf(argumentValue(argument, type, context.variables))) {
    const columns = givenColumns(table, row);
    if (columns.length === 0) {
      throw new AppError('BAD_USER_INPUT', 'Every row of input must give a column.', {
        details: { argument: 'input' },
      });
    }
    groups.set(columnsKey(columns), columns);
  }
  if (groups.size === 0) return [sql`select '[]'`];
  const onConflict = readOnConflict(context, node);
  const insertions = [...groups].map(([key, columns], index) => {
    const ofGroup = (inputs: Inputs): readonly InputRow[] =>
      rowsOf(slot(inputs)).filter((row) => columnsKey(givenColumns(table, row)) === key);
    return insertion(context, table, manyRows(columns, ofGroup), onConflict, `_${index}`);
  });
  return listStatements(context, insertions, returning);
}

function statements(context: WriteContext, change: Change, returning: Returning, none: Sql): Sql[] {
  const { keySetting } = returning;
  const value =
    keySetting === undefined
      ? answerOf(context, writtenAlias(change.row), returning)
      : remember(keySetting, sql`json_build_array(${keyTexts(change.row.table, writtenAlias(change.row))})`);
  const write = sql`with ${join(change.ctes, ', ')}\nselect coalesce((select ${recorded(change.row, value)} from ${change.from}), ${none})`;
  if (keySetting === undefined) return [write];
  return [write, sql`select coalesce((${writtenRowsJson(context, returning)}), 'null')`];
}

function listStatements(
  context: WriteContext,
  insertions: readonly Insertion[],
  returning: Returning,
): Sql[] {
  const { keySetting } = returning;
  const rows = insertions.map(({ row, from }) => {
    const alias = writtenAlias(row);
    const value =
      keySetting === undefined
        ? answerOf(context, alias, returning)
        : sql`${keyTexts(row.table, alias)}::text`;
    return sql`select ${recorded(row, value)} as j from ${from}`;
  });
  const ctes = join(
    insertions.flatMap((item) => item.ctes),
    ', ',
  );
  const list = sql`'[' || coalesce(string_agg(w.j, ','), '') || ']'`;
  const source = sql`from (${join(rows, ' union all ')}) w`;
  if (keySetting === undefined) return [sql`with ${ctes}\nselect ${list} ${source}`];
  return [
    sql`with ${ctes}\nselect ${remember(keySetting, list)} ${source}`,
    sql`select '[' || coalesce((${writtenRowsJson(context, returning)}), '') || ']'`,
  ];
}

/** Hands keys to the next statement, for the rest of the transaction. */
function remember(setting: string, keys: Sql): Sql {
  return sql`set_config(${textConstant(setting)}, (${keys})::text, true)`;
}

function writtenAlias(row: WrittenRow): Sql {
  const alias = row.changed ?? row.old;
  if (!alias) throw new Error('a change has a row before or after it');
  return alias;
}

function keySlots(node: FieldNode): (column: Column) => Slot {
  return (column) => argumentSlot(argumentNode(node, column.name), GraphQLID);
}

function columnOf(input: Slot): (column: Column) => Slot {
  return (column) => (inputs) => (input(inputs) as InputRow)[column.name];
}

function columnsKey(columns: readonly Column[]): string {
  return columns.map((column) => column.name).join(' ');
}

function readOnConflict(context: WriteContext, node: FieldNode): OnConflict {
  const argument = argumentNode(node, 'onconflict');
  const value =
    argument?.kind === 'Variable'
      ? context.variables[argument.name.value]
      : argument?.kind === 'EnumValue'
        ? argument.value
        : undefined;
  return value === 'update' || value === 'ignore' ? value : 'fail';
}

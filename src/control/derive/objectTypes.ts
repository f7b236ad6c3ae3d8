import {
  GraphQLBoolean,
  GraphQLInputObjectType,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLInputFieldConfig,
  type GraphQLScalarType,
} from 'graphql';
import { LIST_ARGS } from '../../graphql/schema/dataSchema.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import type { Column, ControlObject, Related } from './declaration.js';
import { resolveField } from './listedRow.js';
import { relatedRows } from './relatedRows.js';

type Type = GraphQLObjectType<unknown, ControlContext>;

/** The GraphQL types of objects, by name. They refer to each other, so they are created together. */
export function objectTypes(objects: readonly ControlObject[]): ReadonlyMap<string, Type> {
  const byTable = new Map(objects.map((object) => [object.table, object]));
  const types = new Map<string, Type>();
  const relatedField = (name: string, related: Related, description?: string): ControlField => {
    const target = types.get(related.target);
    const object = byTable.get(related.target);
    if (!target || !object) throw new Error(`${name} leads to ${related.target}, which is not declared`);
    const resolve = relatedRows(name, related, object);
    return related.kind === 'to-one'
      ? { type: target, description, resolve }
      : { type: new GraphQLList(target), description, args: LIST_ARGS, resolve };
  };
  const columnField = (object: ControlObject, name: string, column: Column): ControlField =>
    column.shows
      ? relatedField(name, column.shows, column.description)
      : {
          type: outputType(object, name, column),
          description: column.description,
          ...(column.shown ? { resolve: showing(column.shown) } : {}),
        };
  for (const object of objects) {
    const columns = Object.entries(object.columns).filter(([, column]) => isShown(column));
    const fields = (): Record<string, ControlField> =>
      Object.fromEntries([
        ...columns.map(([column, declared]) => [column, columnField(object, column, declared)] as const),
        ...Object.entries(object.relations ?? {}).map(
          ([relation, related]) => [relation, relatedField(relation, related, related.description)] as const,
        ),
      ]);
    const { table: name, description } = object;
    types.set(name, new GraphQLObjectType<unknown, ControlContext>({ name, description, fields }));
  }
  return types;
}

function showing(shown: NonNullable<Column['shown']>): NonNullable<ControlField['resolve']> {
  return (source, args, context, info) => shown(resolveField(source, args, context, info) as never, context);
}

function isShown({ internal, inputOnly, output }: Column): boolean {
  return !internal && !inputOnly && output !== null;
}

const inputTypes = new WeakMap<ControlObject, GraphQLInputObjectType>();

/** The type of a mutation's `input`. Updates are partial, so the type can't mark what a new row requires. */
export function inputType(object: ControlObject): GraphQLInputObjectType {
  const type = inputTypes.get(object) ?? buildInputType(object);
  inputTypes.set(object, type);
  return type;
}

function buildInputType(object: ControlObject): GraphQLInputObjectType {
  const { table, columns, inputOrder = [] } = object;
  const names = new Set([...inputOrder, ...Object.keys(columns)]);
  const fields = [...names].flatMap((name): [string, GraphQLInputFieldConfig][] => {
    const column = ownValue(columns, name);
    if (!column?.input) return [];
    const { input } = column;
    if (typeof input === 'object') return [[name, input]];
    return [[name, { type: sqlTypes(column), ...(input === true ? {} : { description: input }) }]];
  });
  return new GraphQLInputObjectType({ name: `${table}Input`, fields: Object.fromEntries(fields) });
}

function outputType(object: ControlObject, name: string, column: Column): ControlField['type'] {
  if (column.output) return column.output;
  return isId(object, name) ? new GraphQLNonNull(ID) : sqlTypes(column);
}

/** Whether the column is an ID, which is a string: those that identify the row in mutations. */
export function isId({ key, listed }: ControlObject, name: string): boolean {
  return listed !== false && key.includes(name);
}

/** The GraphQL type of a column, for output and input. */
function sqlTypes({ type }: Column): GraphQLScalarType | GraphQLList<GraphQLScalarType> {
  switch (type) {
    case 'int4':
      return SCALARS.Int;
    case 'bool':
      return GraphQLBoolean;
    case 'timestamptz':
      return SCALARS.DateTime;
    case 'json':
    case 'jsonb':
      return SCALARS.GenericScalar;
    case 'text[]':
      return new GraphQLList(GraphQLString);
    case 'int4[]':
      return new GraphQLList(SCALARS.Int);
    case 'int8':
    case 'text':
    case 'uuid':
      return GraphQLString;
  }
}

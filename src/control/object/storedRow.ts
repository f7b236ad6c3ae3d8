import { defaultFieldResolver, type GraphQLFieldResolver } from 'graphql';
import type { ControlContext } from '../controlContext.js';

/** An object as a mutation left it, by field name. Rows of lists come by response key instead. */
export class StoredRow<Row extends object = object> {
  constructor(readonly row: Row) {}
}

/** Reads a field of an object of either origin. */
export const resolveField: GraphQLFieldResolver<unknown, ControlContext> = (source, args, context, info) => {
  if (source instanceof StoredRow) return (source.row as Readonly<Record<string, unknown>>)[info.fieldName];
  if (typeof source === 'object' && source !== null && info.path.key in source) {
    return (source as Readonly<Record<string, unknown>>)[info.path.key];
  }
  return defaultFieldResolver(source, args, context, info);
};

/** How the objects are read that a stored one leads to. */
type Load<Row extends object> = (
  row: StoredRow<Row>['row'],
  context: ControlContext,
  args: Readonly<Record<string, unknown>>,
) => Promise<StoredRow | readonly StoredRow[] | null>;

/** A field that leads to other objects: lists bring them along, after a mutation they are read. */
export function related<Row extends object>(load: Load<Row>): GraphQLFieldResolver<unknown, ControlContext> {
  return (source, args, context, info) =>
    source instanceof StoredRow
      ? context.inTurn(() => {
          context.countRelatedRead();
          return load(source.row as Row, context, args as Readonly<Record<string, unknown>>);
        })
      : resolveField(source, args, context, info);
}

/** A field of a JSON value inside a row: it has its own name there, whatever alias was asked for. */
export const resolveJsonField: GraphQLFieldResolver<unknown, ControlContext> = (
  source,
  _args,
  _context,
  info,
) => (source as Readonly<Record<string, unknown>>)[info.fieldName] ?? null;

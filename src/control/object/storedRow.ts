import { defaultFieldResolver, type GraphQLFieldResolver } from 'graphql';
import type { ControlContext } from '../controlContext.js';

/** An object after a mutation, by field name; rows of lists are by response key instead. */
export class StoredRow<Row extends object = object> {
  constructor(readonly row: Row) {}
}

/** Reads a field of an object from a mutation or from a list. */
export const resolveField: GraphQLFieldResolver<unknown, ControlContext> = (source, args, context, info) => {
  if (source instanceof StoredRow) return (source.row as Readonly<Record<string, unknown>>)[info.fieldName];
  if (typeof source === 'object' && source !== null && info.path.key in source) {
    return (source as Readonly<Record<string, unknown>>)[info.path.key];
  }
  return defaultFieldResolver(source, args, context, info);
};

/** Reads a field of a JSON value inside a row, which is stored under its own name whatever its alias. */
export const resolveJsonField: GraphQLFieldResolver<unknown, ControlContext> = (
  source,
  _args,
  _context,
  info,
) => (source as Readonly<Record<string, unknown>>)[info.fieldName] ?? null;

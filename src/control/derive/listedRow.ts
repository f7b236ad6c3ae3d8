import { defaultFieldResolver, type GraphQLFieldResolver } from 'graphql';
import { ownValue } from '../../foundation/ownValue.js';
import type { ControlContext } from '../controlContext.js';

/** A row of a list, which has its values by response key. All other objects have theirs by field name. */
export class ListedRow {
  constructor(readonly row: Readonly<Record<string, unknown>>) {}
}

/** Reads a field of an object. */
export const resolveField: GraphQLFieldResolver<unknown, ControlContext> = (source, args, context, info) =>
  source instanceof ListedRow
    ? ownValue(source.row, info.path.key)
    : defaultFieldResolver(source, args, context, info);

/** The rows of a list, or of one below a listed row. */
export function listedRows(rows: readonly unknown[]): readonly ListedRow[] {
  return rows.map((row) => new ListedRow(row as ListedRow['row']));
}

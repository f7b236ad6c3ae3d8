import { GraphQLList, GraphQLString, Kind, type FieldNode, type ValueNode } from 'graphql';
import type { Slot } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { parseOrdering } from '../ordering/parseOrdering.js';
import { SCALARS } from '../schema/scalars.js';
import { argumentNode, argumentSlot, argumentValue } from './argument.js';
import type { ReadContext } from './readContext.js';
import type { ListFilter, Page } from './selection.js';

const ORDERING = new GraphQLList(GraphQLString);

/** Reads the four arguments of a list. `""` means no `filter` or `ordering`. Throws AppError. */
export function readListArguments(context: ReadContext, field: FieldNode): Page {
  const filter = readFilter(context, argumentNode(field, 'filter'));
  const items = argumentValue(argumentNode(field, 'ordering'), ORDERING, context.variables);
  const ordering = Array.isArray(items)
    ? items.filter((item): item is string => typeof item === 'string')
    : [];
  return {
    ...(filter ? { filter } : {}),
    ordering: parseOrdering(ordering),
    limit: readLimit(context, argumentValue(argumentNode(field, 'limit'), SCALARS.Int, context.variables)),
    ...readOffset(context, argumentNode(field, 'offset')),
  };
}

export function readFilter(context: ReadContext, node: ValueNode | undefined): ListFilter | undefined {
  const text = argumentValue(node, GraphQLString, context.variables);
  if (typeof text !== 'string' || text.trim() === '') return undefined;
  const parsed = context.filters.parse(text);
  return { parsed, variable: node?.kind === Kind.VARIABLE ? node.name.value : undefined };
}

/** Clamped to the maximum: documented, and existing clients rely on it. */
function readLimit({ limits }: ReadContext, value: unknown): number {
  return Math.min(count(value, 'limit') ?? limits.defaultLimit, limits.maxLimit);
}

/** 0 and null mean no offset: some clients always send their variables. */
function readOffset({ variables }: ReadContext, node: ValueNode | undefined): { offset?: Slot } {
  const value = count(argumentValue(node, SCALARS.Int, variables), 'offset') ?? 0;
  return value === 0 ? {} : { offset: argumentSlot(node, SCALARS.Int) };
}

function count(value: unknown, name: string): number | undefined {
  if (value === null || value === undefined) return undefined;
  const number = Number(value);
  if (number < 0) throw new AppError('BAD_USER_INPUT', `${name} must not be negative.`);
  return number;
}

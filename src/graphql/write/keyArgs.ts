import { GraphQLNonNull, type FieldNode, type GraphQLFieldConfigArgumentMap } from 'graphql';
import type { Column, Table } from '../../db/catalog/catalog.js';
import { keyArguments, type OWN_ARGUMENTS } from '../../db/catalog/names.js';
import type { Slot } from '../../db/sql/sql.js';
import { argumentNode, argumentSlot } from '../read/argument.js';
import { ID } from '../schema/scalars.js';

type RowMutation = keyof typeof OWN_ARGUMENTS;

/** The arguments that give a row's key. */
export function keyArgs(table: Table, mutation: RowMutation): GraphQLFieldConfigArgumentMap {
  const names = argumentsOf(table, mutation).values();
  return Object.fromEntries([...names].map((name) => [name, { type: new GraphQLNonNull(ID) }]));
}

/** The key that a mutation's arguments give. */
export function keySlots(table: Table, mutation: RowMutation, node: FieldNode): (column: Column) => Slot {
  const names = argumentsOf(table, mutation);
  return ({ name }) => argumentSlot(argumentNode(node, names.get(name) ?? name), ID);
}

function argumentsOf({ primaryKey }: Table, mutation: RowMutation): ReadonlyMap<string, string> {
  return keyArguments(
    primaryKey.map(({ name }) => name),
    mutation,
  );
}

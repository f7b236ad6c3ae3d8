import { valueFromASTUntyped, type FieldNode } from 'graphql';
import { rootFields } from '../document/rootFields.js';
import type { PreparedRequest } from '../plan/prepareRequest.js';
import { argumentNode } from '../read/argument.js';

/** Rows that a mutation is to write: one a root field, and of `create_many_` as many as its input lists. */
export function rowsToWrite({ ready, variables }: PreparedRequest): number {
  const rowsOf = (field: FieldNode): number => {
    const input = argumentNode(field, 'input');
    const value: unknown = input && valueFromASTUntyped(input, variables);
    return Array.isArray(value) ? value.length : 1;
  };
  return rootFields(ready.operation, ready.fragments).reduce((rows, field) => rows + rowsOf(field), 0);
}

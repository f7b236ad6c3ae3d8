import { valueFromASTUntyped, type FieldNode } from 'graphql';
import { rootFields } from '../document/rootFields.js';
import type { PlannedRequest } from '../plan/planRequest.js';
import { argumentNode } from '../read/argument.js';

/** The number of rows a mutation will write: one per root field, or for `create_many_` the length of its input. */
export function rowsToWrite({ ready, variables }: PlannedRequest): number {
  const rowsOf = (field: FieldNode): number => {
    const input = argumentNode(field, 'input');
    const value: unknown = input && valueFromASTUntyped(input, variables);
    return Array.isArray(value) ? value.length : 1;
  };
  return rootFields(ready.operation, ready.fragments).reduce((rows, field) => rows + rowsOf(field), 0);
}

import type { FragmentDefinitionNode, OperationDefinitionNode } from 'graphql';
import { AppError } from '../../errors.js';
import { fieldsOf, rootFields } from '../../graphql/document/rootFields.js';

/** Mutations of one request: they hold a connection and the rows that they change until the last is done. */
const MAX_MUTATIONS = 100;

/** Throws AppError DOCUMENT_TOO_COMPLEX. Those below `Utility` count each. */
export function requireFewMutations(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  let count = 0;
  for (const { name, selectionSet } of rootFields(operation, fragments)) {
    count += name.value === 'Utility' && selectionSet ? fieldsOf(selectionSet, fragments).length : 1;
  }
  if (count <= MAX_MUTATIONS) return;
  throw new AppError('DOCUMENT_TOO_COMPLEX', `The document has more than ${MAX_MUTATIONS} mutations.`);
}

import {
  Kind,
  type FieldNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';
import { AppError } from '../../errors.js';

/** Mutations of one request: they hold a connection and the rows that they change until the last is done. */
const MOST_MUTATIONS = 100;

/** The root fields of a valid document with fragments expanded; those that a directive leaves out are among them. */
export function rootFields(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): readonly FieldNode[] {
  return fieldsOf(operation.selectionSet, fragments);
}

/** Throws AppError DOCUMENT_TOO_COMPLEX. Those below `Utility` count each. */
export function requireFewMutations(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): void {
  let count = 0;
  for (const { name, selectionSet } of rootFields(operation, fragments)) {
    count += name.value === 'Utility' && selectionSet ? fieldsOf(selectionSet, fragments).length : 1;
  }
  if (count <= MOST_MUTATIONS) return;
  throw new AppError('DOCUMENT_TOO_COMPLEX', `The document has more than ${MOST_MUTATIONS} mutations.`);
}

function fieldsOf(
  set: SelectionSetNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): readonly FieldNode[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
    return inner ? fieldsOf(inner.selectionSet, fragments) : [];
  });
}

import {
  Kind,
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from 'graphql';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** The fragments by name. */
export function fragmentsOf({ definitions }: DocumentNode): Fragments {
  const fragments = definitions.filter((node) => node.kind === Kind.FRAGMENT_DEFINITION);
  return new Map(fragments.map((node) => [node.name.value, node]));
}

/** The root fields of a valid document with fragments expanded, including those that a directive skips. */
export function rootFields(operation: OperationDefinitionNode, fragments: Fragments): readonly FieldNode[] {
  return fieldsOf(operation.selectionSet, fragments);
}

/** As `rootFields`, for any selection set. */
export function fieldsOf(set: SelectionSetNode, fragments: Fragments): readonly FieldNode[] {
  return set.selections.flatMap((selection) => {
    if (selection.kind === Kind.FIELD) return [selection];
    const inner = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments.get(selection.name.value);
    return inner ? fieldsOf(inner.selectionSet, fragments) : [];
  });
}

import {
  GraphQLIncludeDirective,
  GraphQLSkipDirective,
  getDirectiveValues,
  Kind,
  type FieldNode,
  type FragmentDefinitionNode,
  type SelectionNode,
  type SelectionSetNode,
} from 'graphql';

interface Scope {
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  readonly variables: Readonly<Record<string, unknown>>;
}

/**
 * The fields of a type by response key, in response order: fragments expanded, @skip and @include applied, selections of
 * the same key merged (GraphQL 6.3.2).
 */
export function collectFields(
  scope: Scope,
  typeName: string,
  sets: readonly (SelectionSetNode | undefined)[],
): Map<string, FieldNode[]> {
  const fields = new Map<string, FieldNode[]>();
  const visited = new Set<string>();

  const collect = (selections: readonly SelectionNode[]): void => {
    for (const selection of selections) {
      if (!isIncluded(scope, selection)) continue;
      if (selection.kind === Kind.FIELD) {
        const key = responseKey(selection);
        const known = fields.get(key);
        if (known) known.push(selection);
        else fields.set(key, [selection]);
        continue;
      }
      if (selection.kind === Kind.FRAGMENT_SPREAD) {
        if (visited.has(selection.name.value)) continue;
        visited.add(selection.name.value);
      }
      const fragment =
        selection.kind === Kind.FRAGMENT_SPREAD ? scope.fragments.get(selection.name.value) : selection;
      // All types are object types, so a type condition only matches its own name.
      const condition = fragment?.typeCondition?.name.value;
      if (fragment && (condition === undefined || condition === typeName)) {
        collect(fragment.selectionSet.selections);
      }
    }
  };

  for (const set of sets) if (set) collect(set.selections);
  return fields;
}

function responseKey(field: FieldNode): string {
  return field.alias?.value ?? field.name.value;
}

function isIncluded(scope: Scope, node: SelectionNode): boolean {
  if (!node.directives || node.directives.length === 0) return true;
  if (getDirectiveValues(GraphQLSkipDirective, node, scope.variables)?.['if'] === true) return false;
  return getDirectiveValues(GraphQLIncludeDirective, node, scope.variables)?.['if'] !== false;
}

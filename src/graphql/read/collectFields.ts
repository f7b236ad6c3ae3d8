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

/** The nodes of one response key, whose selections are merged. */
export type FieldNodes = readonly [FieldNode, ...FieldNode[]];

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
  nodes: readonly { readonly selectionSet?: SelectionSetNode | undefined }[],
): Map<string, FieldNodes> {
  const fields = new Map<string, [FieldNode, ...FieldNode[]]>();
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

  for (const { selectionSet } of nodes) if (selectionSet) collect(selectionSet.selections);
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

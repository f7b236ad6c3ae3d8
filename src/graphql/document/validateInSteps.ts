import {
  assertValidSchema,
  GraphQLError,
  Kind,
  TypeInfo,
  ValidationContext,
  visitInParallel,
  visitWithTypeInfo,
  type ASTNode,
  type ASTVisitFn,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
  type ValidationRule,
  type VariableNode,
} from 'graphql';
import { ownValue } from '../../foundation/ownValue.js';
import type { Steps } from '../steps.js';

/** Nodes per step: about 2 ms for all rules. */
const NODES_PER_STEP = 200;

/** The result of visitWithTypeInfo. */
interface Handlers {
  readonly enter?: ASTVisitFn<ASTNode>;
  readonly leave?: ASTVisitFn<ASTNode>;
}

type Children = ASTNode | readonly ASTNode[] | undefined;

/** The keys that graphql-js's `visit` walks in executable documents; rules reject all others. */
const CHILDREN: Readonly<Partial<Record<Kind, readonly string[]>>> = {
  [Kind.DOCUMENT]: ['definitions'],
  [Kind.OPERATION_DEFINITION]: ['name', 'variableDefinitions', 'directives', 'selectionSet'],
  [Kind.FRAGMENT_DEFINITION]: ['name', 'variableDefinitions', 'typeCondition', 'directives', 'selectionSet'],
  [Kind.VARIABLE_DEFINITION]: ['variable', 'type', 'defaultValue', 'directives'],
  [Kind.VARIABLE]: ['name'],
  [Kind.SELECTION_SET]: ['selections'],
  [Kind.FIELD]: ['alias', 'name', 'arguments', 'directives', 'selectionSet'],
  [Kind.FRAGMENT_SPREAD]: ['name', 'directives'],
  [Kind.INLINE_FRAGMENT]: ['typeCondition', 'directives', 'selectionSet'],
  [Kind.ARGUMENT]: ['name', 'value'],
  [Kind.DIRECTIVE]: ['name', 'arguments'],
  [Kind.LIST]: ['values'],
  [Kind.OBJECT]: ['fields'],
  [Kind.OBJECT_FIELD]: ['name', 'value'],
  [Kind.NAMED_TYPE]: ['name'],
  [Kind.LIST_TYPE]: ['type'],
  [Kind.NON_NULL_TYPE]: ['type'],
};

type Definition = OperationDefinitionNode | FragmentDefinitionNode;
type VariableUsages = ReturnType<ValidationContext['getVariableUsages']>;

/** Rules on variables need all usages of an operation, which the default context would collect in one uninterruptible pass. */
class ContextOfKnownUsages extends ValidationContext {
  readonly knownUsages = new Map<Definition, VariableUsages>();

  override getVariableUsages(node: Definition): VariableUsages {
    return this.knownUsages.get(node) ?? super.getVariableUsages(node);
  }
}

/**
 * Like `validate` of graphql-js, which would block the event loop on large documents. Stops after `maxErrors` errors.
 */
export function* validateInSteps(
  schema: GraphQLSchema,
  document: DocumentNode,
  rules: readonly ValidationRule[],
  maxErrors: number,
): Steps<readonly GraphQLError[]> {
  assertValidSchema(schema);
  const errors: GraphQLError[] = [];
  const enough = new Error('enough errors');
  const types = new TypeInfo(schema);
  const context = new ContextOfKnownUsages(schema, document, types, (error) => {
    if (errors.length >= maxErrors) throw enough;
    errors.push(error);
  });
  for (const definition of document.definitions) {
    if (definition.kind !== Kind.OPERATION_DEFINITION && definition.kind !== Kind.FRAGMENT_DEFINITION)
      continue;
    context.knownUsages.set(definition, yield* findVariableUsages(schema, definition));
  }
  const rulesAtOnce = visitInParallel(rules.map((rule) => rule(context)));
  try {
    yield* walkInSteps(document, visitWithTypeInfo(types, rulesAtOnce) as Handlers);
  } catch (error) {
    if (error !== enough) throw error;
    errors.push(new GraphQLError('Too many validation errors, error limit reached. Validation aborted.'));
  }
  return errors;
}

function* findVariableUsages(schema: GraphQLSchema, definition: Definition): Steps<VariableUsages> {
  const types = new TypeInfo(schema);
  const usages: VariableUsages[number][] = [];
  const handlers = visitWithTypeInfo(types, {
    VariableDefinition: () => false,
    Variable(node: VariableNode) {
      usages.push({
        node,
        type: types.getInputType(),
        defaultValue: types.getDefaultValue(),
        parentType: types.getParentInputType(),
      });
    },
  });
  yield* walkInSteps(definition, handlers as Handlers);
  return usages;
}

function* walkInSteps(root: ASTNode, handlers: Handlers): Steps<void> {
  const ancestors: (ASTNode | readonly ASTNode[])[] = [];
  let nodes = 0;

  function* walk(node: ASTNode, parent: ASTNode | readonly ASTNode[] | undefined): Steps<void> {
    if (++nodes % NODES_PER_STEP === 0) yield;
    // Validation rules need the node and its ancestors, not keys and paths, and never edit the tree.
    if (handlers.enter?.(node, undefined, parent, [], ancestors) === false) return;
    if (parent) ancestors.push(parent);
    for (const key of CHILDREN[node.kind] ?? []) {
      const children = ownValue(node as unknown as Record<string, Children>, key);
      if (children === undefined) continue;
      if (isList(children)) {
        ancestors.push(node);
        for (const child of children) yield* walk(child, children);
        ancestors.pop();
      } else {
        yield* walk(children, node);
      }
    }
    if (parent) ancestors.pop();
    handlers.leave?.(node, undefined, parent, [], ancestors);
  }

  yield* walk(root, undefined);
}

function isList(children: ASTNode | readonly ASTNode[]): children is readonly ASTNode[] {
  return Array.isArray(children);
}

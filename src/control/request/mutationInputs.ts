import {
  getArgumentValues,
  getVariableValues,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { rootFields } from '../../graphql/document/rootFields.js';
import { ownValue } from '../../foundation/ownValue.js';

/** A mutation of a document, and its `input`. */
export interface MutationInput {
  readonly mutation: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** What the mutations of a document are given, for what has to be done before their transaction begins. */
export function mutationInputs(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  given: Readonly<Record<string, unknown>>,
): readonly MutationInput[] {
  const variables = getVariableValues(schema, operation.variableDefinitions ?? [], given).coerced;
  // Invalid variables: execution reports them before anything is resolved.
  if (!variables) return [];
  return rootFields(operation, fragments).flatMap((node) => inputOf(schema, node, variables) ?? []);
}

function inputOf(
  schema: GraphQLSchema,
  node: FieldNode,
  variables: Record<string, unknown>,
): MutationInput | undefined {
  const mutation = node.name.value;
  const field = ownValue(schema.getMutationType()?.getFields() ?? {}, mutation);
  if (!field) return undefined;
  try {
    const { input } = getArgumentValues(field, node, variables) as { input?: MutationInput['input'] | null };
    return input ? { mutation, input } : undefined;
  } catch {
    // An invalid argument is an error of the field, which changes nothing.
    return undefined;
  }
}

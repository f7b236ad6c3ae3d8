import {
  getArgumentValues,
  getVariableValues,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { rootFields } from '../../graphql/document/rootFields.js';

/** A mutation of a document, and its `input`. */
export interface MutationInput {
  readonly name: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** The inputs of a document's mutations, without those that are invalid: their fields fail. */
export function inputsOf(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
  given: Readonly<Record<string, unknown>>,
): readonly MutationInput[] {
  const variables = getVariableValues(schema, operation.variableDefinitions ?? [], given).coerced;
  const fields = schema.getMutationType()?.getFields() ?? {};
  if (!variables) return [];
  return rootFields(operation, fragments).flatMap((node): MutationInput[] => {
    const field = fields[node.name.value];
    if (!field) return [];
    try {
      const { input } = getArgumentValues(field, node, variables) as {
        input?: MutationInput['input'] | null;
      };
      return input ? [{ name: node.name.value, input }] : [];
    } catch {
      return [];
    }
  });
}

import {
  isNonNullType,
  Kind,
  TypeInfo,
  visit,
  visitWithTypeInfo,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';

const NONE: ReadonlySet<string> = new Set();

/**
 * The variables that a request may leave out, but not set to null: a nullable variable with a default value may stand where
 * a value is required, and whether it has one only shows when the request runs (GraphQL 5.8.5).
 */
export function findRequiredVariables(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): ReadonlySet<string> {
  const mayBeRequired = (operation.variableDefinitions ?? []).some(
    ({ type, defaultValue }) => defaultValue && type.kind !== Kind.NON_NULL_TYPE,
  );
  if (!mayBeRequired) return NONE;
  const required = new Set<string>();
  const types = new TypeInfo(schema);
  const handlers = visitWithTypeInfo(types, {
    Variable: ({ name }) => {
      if (isNonNullType(types.getInputType())) required.add(name.value);
    },
  });
  for (const root of [operation, ...fragments.values()]) visit(root, handlers);
  return required;
}

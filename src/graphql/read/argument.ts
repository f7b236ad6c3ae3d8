import { Kind, valueFromAST, type FieldNode, type GraphQLInputType, type ValueNode } from 'graphql';
import type { Slot } from '../../db/sql/sql.js';
import { ownValue } from '../../foundation/ownValue.js';
import { hasVariable } from '../document/variableShapes.js';

export function argumentNode(field: FieldNode, name: string): ValueNode | undefined {
  return field.arguments?.find((argument) => argument.name.value === name)?.value;
}

/** The argument's value with these variables; undefined if absent. */
export function argumentValue(
  node: ValueNode | undefined,
  type: GraphQLInputType,
  variables: Readonly<Record<string, unknown>>,
): unknown {
  return node === undefined ? undefined : valueFromAST(node, type, variables);
}

/** Reads the argument on every run; a literal is read once, now. */
export function argumentSlot(node: ValueNode | undefined, type: GraphQLInputType): Slot {
  if (node === undefined) return () => undefined;
  if (node.kind === Kind.VARIABLE) {
    const name = node.name.value;
    return (inputs) => ownValue(inputs.variables, name);
  }
  if (hasVariable(node)) return (inputs) => valueFromAST(node, type, inputs.variables);
  const value = valueFromAST(node, type);
  return () => value;
}

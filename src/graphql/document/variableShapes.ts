import {
  Kind,
  visit,
  type ArgumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type VariableNode,
} from 'graphql';
import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { RequestFilters } from '../read/requestFilters.js';
import type { Steps } from '../steps.js';

type Variables = Readonly<Record<string, unknown>>;

/** What the plan depends on in one variable. */
export interface VariableShape {
  /** The variable, if it is a filter. */
  readonly filter?: string;
  /** As text: requests with equal texts share a plan. */
  readonly render: (variables: Variables, filters: RequestFilters) => string;
}

/**
 * A plan depends on the shape of a filter; on the value of an ordering, limit, subquery, directive condition or enum; on
 * the keys of an object; and for anything else only on its presence. All uses of a variable count, even skipped ones.
 */
export function findVariableShapes(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): readonly VariableShape[] {
  const shapers = new Map<string, VariableShape>();
  const collect = (argument: ArgumentNode): void => {
    visit(argument.value, {
      Variable(node: VariableNode) {
        const name = node.name.value;
        shapers.set(`${argument.name.value} ${name}`, shapeFor(argument.name.value, name));
      },
    });
  };
  for (const root of [operation, ...fragments.values()]) {
    visit(root, {
      Argument: (node) => {
        collect(node);
      },
      VariableDefinition: () => false,
    });
  }
  return [...shapers.values()];
}

/** The plan's key within its document. */
export function* shapeKey(
  shapes: readonly VariableShape[],
  variables: Variables,
  filters: RequestFilters,
): Steps<string> {
  let key = '';
  for (const { filter, render } of shapes) {
    if (filter !== undefined && filters.beginsStep(ownValue(variables, filter))) yield;
    key += `${render(variables, filters)}\u0000`;
  }
  return key;
}

function shapeFor(argument: string, name: string): VariableShape {
  switch (argument) {
    case 'filter':
    case 'having':
      return {
        filter: name,
        render: (variables, filters) => {
          const value = ownValue(variables, name);
          return typeof value === 'string' ? filters.shape(value) : 'none';
        },
      };
    case 'offset':
      return { render: (variables) => String(Math.sign(Number(ownValue(variables, name) ?? 0))) };
    case 'ordering':
    case 'limit':
    case 'onconflict':
    case 'if':
    case 'cast':
    case 'subquery':
    case 'distincton':
      return { render: (variables) => JSON.stringify(ownValue(variables, name) ?? null) };
    default:
      return { render: (variables) => givenShape(ownValue(variables, name)) };
  }
}

function givenShape(value: unknown): string {
  if (value === undefined) return 'u';
  if (value === null) return 'n';
  if (Array.isArray(value)) return `[${unique(value.map(givenShape)).join('|')}]`;
  if (isJsonObject(value)) return `{${Object.keys(value).join(' ')}}`;
  return 'v';
}

/** Consecutive rows with the same columns are one group of an insert. */
function unique(shapes: readonly string[]): readonly string[] {
  return shapes.filter((shape, index) => shape !== shapes[index - 1]);
}

/** Whether a value in the document contains a variable. */
export function hasVariable(node: ArgumentNode['value']): boolean {
  switch (node.kind) {
    case Kind.VARIABLE:
      return true;
    case Kind.LIST:
      return node.values.some(hasVariable);
    case Kind.OBJECT:
      return node.fields.some((field) => hasVariable(field.value));
    default:
      return false;
  }
}

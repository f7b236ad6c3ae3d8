import {
  Kind,
  visit,
  type ArgumentNode,
  type FragmentDefinitionNode,
  type OperationDefinitionNode,
  type VariableNode,
} from 'graphql';
import { isJsonObject } from '../../losslessJson.js';
import type { FilterTexts } from '../plan/filterTexts.js';

type Variables = Readonly<Record<string, unknown>>;

/** The properties of one variable that determine the plan, as text: requests with equal texts share a plan. */
export type Shaper = (variables: Variables, filters: FilterTexts) => string;

/**
 * A filter contributes its shape; an ordering, limit, subquery, directive condition or enum its value; an offset
 * whether it is given; an object its keys; everything else only whether it is given. All uses of a variable count,
 * even skipped ones.
 */
export function findShapers(
  operation: OperationDefinitionNode,
  fragments: ReadonlyMap<string, FragmentDefinitionNode>,
): readonly Shaper[] {
  const shapers = new Map<string, Shaper>();
  const look = (argument: ArgumentNode): void => {
    visit(argument.value, {
      Variable(node: VariableNode) {
        const name = node.name.value;
        shapers.set(`${argument.name.value} ${name}`, shaperFor(argument.name.value, name));
      },
    });
  };
  for (const root of [operation, ...fragments.values()]) {
    visit(root, {
      Argument: (node) => {
        look(node);
      },
      VariableDefinition: () => false,
    });
  }
  return [...shapers.values()];
}

/** The plan's key within its document. */
export function shapeKey(shapers: readonly Shaper[], variables: Variables, filters: FilterTexts): string {
  if (shapers.length === 0) return '';
  let key = '';
  for (const shaper of shapers) key += `${shaper(variables, filters)}\u0000`;
  return key;
}

function shaperFor(argument: string, name: string): Shaper {
  switch (argument) {
    case 'filter':
    case 'having':
      return (variables, filters) => {
        const value = variables[name];
        return typeof value === 'string' ? filters.shape(value) : 'none';
      };
    case 'offset':
      return (variables) => String(Math.sign(Number(variables[name] ?? 0)));
    case 'ordering':
    case 'limit':
    case 'onconflict':
    case 'if':
    case 'cast':
    case 'subquery':
    case 'distincton':
      return (variables) => JSON.stringify(variables[name] ?? null);
    default:
      return (variables) => givenShape(variables[name]);
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

import { renderFault } from '../errors.js';
import {
  methodTable,
  namedMethod,
  type Evaluation,
  type Invoke,
  type MethodEntry,
  type MethodTable,
} from '../values/callable.js';
import { softText } from '../values/escape.js';
import { indexArgument } from '../values/numbers.js';
import { isText, textOf, typeName, type Text, type Value } from '../values/value.js';

/** A filter: a method that every value has. */
export const filter = namedMethod<Value>;

export function filterTable(filters: Readonly<Record<string, MethodEntry<Value> | Invoke>>): MethodTable {
  return methodTable((value) => value, filters);
}

/** The input as text: markup stays markup, everything else is printed. Charges the budget for reading it. */
export function textInput(input: Value, { budget }: Evaluation): Text {
  const text = softText(input, budget);
  budget.allocate(textOf(text).length);
  return text;
}

/** An argument that must be text. */
export function textArgument(value: Value, name: string): string {
  if (!isText(value)) throw renderFault(`${name} must be text, not ${typeName(value)}`);
  return textOf(value);
}

export { indexArgument };

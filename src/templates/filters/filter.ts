import { renderFault } from '../errors.js';
import { bindArguments } from '../values/callable.js';
import type { Evaluation, Invoke } from '../values/callable.js';
import { softText } from '../values/escape.js';
import { indexArgument } from '../values/numbers.js';
import { isText, textOf, typeName } from '../values/value.js';
import type { Text, Value } from '../values/value.js';

/** Filters by name. */
export type FilterTable = ReadonlyMap<string, Invoke>;

type FilterBody = (input: Value, evaluation: Evaluation, ...args: (Value | undefined)[]) => Value;

/** How a filter is declared: its parameters in order, of which the first `required` must be given. */
export interface FilterDefinition {
  readonly parameters: readonly string[];
  readonly body: FilterBody;
  readonly required: number;
}

export function filter(parameters: readonly string[], body: FilterBody, required = 0): FilterDefinition {
  return { parameters, body, required };
}

/** Converts filters to the form in which the engine calls them. One that takes raw arguments is given as a function. */
export function filterTable(definitions: Readonly<Record<string, FilterDefinition | Invoke>>): FilterTable {
  return new Map(Object.entries(definitions).map(([name, definition]) => [name, toInvoke(name, definition)]));
}

function toInvoke(name: string, definition: FilterDefinition | Invoke): Invoke {
  if (typeof definition === 'function') return definition;
  const { parameters, body, required } = definition;
  const signature = { name, parameters, required };
  return (input, args, evaluation) => {
    if (required === 0 && args.positional.length === 0 && args.named.size === 0)
      return body(input, evaluation);
    return body(input, evaluation, ...bindArguments(signature, args));
  };
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

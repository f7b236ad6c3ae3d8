import type { FragmentDefinitionNode, OperationDefinitionNode } from 'graphql';
import { AppError } from '../../foundation/errors.js';
import { exceedsValueCount } from '../../foundation/json/jsonText.js';
import { fieldsOf, rootFields } from '../../graphql/document/rootFields.js';

type Fragments = ReadonlyMap<string, FragmentDefinitionNode>;

/** Maximum mutations per request: they hold a connection and row locks until the last one is done. */
const MAX_MUTATIONS = 100;
/** Maximum fields of `Utility` per query: each does some work. */
const MAX_UTILITIES = 100;
/** Maximum values in all lists of one query. Each blocks the event loop for a few microseconds. */
const MAX_LISTED_VALUES = 50_000;
/** Maximum duration of a statement with a client's filter on control objects. */
export const CLIENT_FILTER_MS = 2_000;

/** Throws AppError DOCUMENT_TOO_COMPLEX. Fields below `Utility` count individually. */
export function limitMutations(operation: OperationDefinitionNode, fragments: Fragments): void {
  let count = 0;
  for (const { name, selectionSet } of rootFields(operation, fragments)) {
    count += name.value === 'Utility' && selectionSet ? fieldsOf(selectionSet, fragments).length : 1;
  }
  if (count <= MAX_MUTATIONS) return;
  throw new AppError('DOCUMENT_TOO_COMPLEX', `The document has more than ${MAX_MUTATIONS} mutations.`);
}

/** Throws AppError DOCUMENT_TOO_COMPLEX. */
export function limitUtilities(operation: OperationDefinitionNode, fragments: Fragments): void {
  const count = rootFields(operation, fragments)
    .flatMap(({ name, selectionSet }) => (name.value === 'Utility' && selectionSet ? [selectionSet] : []))
    .reduce((sum, selectionSet) => sum + fieldsOf(selectionSet, fragments).length, 0);
  if (count <= MAX_UTILITIES) return;
  throw new AppError(
    'DOCUMENT_TOO_COMPLEX',
    `The document has more than ${MAX_UTILITIES} fields of Utility.`,
  );
}

/** Before it is parsed: a row in it may hold millions of values. Throws AppError DOCUMENT_TOO_COMPLEX. */
export function limitValues(json: string, max = MAX_LISTED_VALUES): void {
  if (json.length > max && exceedsValueCount(json, max)) throw tooManyValues(max);
}

/** @returns a function that counts values of lists and throws AppError DOCUMENT_TOO_COMPLEX */
export function createValueCounter(): (rows: readonly unknown[]) => void {
  let count = 0;
  const add = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const values = Object.values(value);
    count += values.length;
    if (count > MAX_LISTED_VALUES) throw tooManyValues(MAX_LISTED_VALUES);
    values.forEach(add);
  };
  return (rows) => add(rows);
}

function tooManyValues(max: number): AppError {
  return new AppError(
    'DOCUMENT_TOO_COMPLEX',
    `The response holds more than ${max} values: select fewer fields, or page with limit and offset.`,
  );
}

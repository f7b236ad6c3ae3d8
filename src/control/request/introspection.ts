import { Kind, visit, type DocumentNode, type ExecutionResult, type GraphQLSchema } from 'graphql';
import type { ReadyDocument } from '../../graphql/document/document.js';
import { rootFields } from '../../graphql/document/rootFields.js';
import { coerceVariables } from '../../graphql/document/variables.js';
import { introspect } from '../../graphql/introspect.js';
import { collectFields } from '../../graphql/read/collectFields.js';
import type { Steps } from '../../graphql/steps.js';
import { ownValue } from '../../foundation/ownValue.js';

/** The results of a query's `__schema` and `__type`, which graphql-js would compute in one block on the event loop. */
export interface Introspected {
  /** By response key, in response order; undefined for fields that the rest of the document resolves. */
  readonly fields: ReadonlyMap<string, unknown>;
  /** The document without them; undefined if nothing is left. */
  readonly rest: DocumentNode | undefined;
}

/** Several times what tools request. */
const MAX_INTROSPECTION_CHARACTERS = 1_048_576;

const isIntrospection = (name: string): boolean => name === '__schema' || name === '__type';

/** Throws AppError DOCUMENT_TOO_COMPLEX. @returns undefined for a query without introspection */
export function* introspectQuery(
  schema: GraphQLSchema,
  ready: ReadyDocument,
  given: Readonly<Record<string, unknown>>,
): Steps<Introspected | undefined> {
  const { document, operation, fragments } = ready;
  if (!rootFields(operation, fragments).some(({ name }) => isIntrospection(name.value))) return undefined;
  const variables = coerceVariables(schema, ready, given);
  const roots = [...collectFields({ fragments, variables }, 'Query', [operation])];
  const isIntrospectionRoot = ([, nodes]: (typeof roots)[number]): boolean =>
    isIntrospection(nodes[0].name.value);
  const fields = new Map<string, unknown>();
  let maxCharacters = MAX_INTROSPECTION_CHARACTERS;
  for (const root of roots) {
    const [key, nodes] = root;
    const json = isIntrospectionRoot(root)
      ? yield* introspect({ schema, fragments, variables, maxCharacters }, nodes)
      : undefined;
    maxCharacters -= json?.length ?? 0;
    fields.set(key, json === undefined ? undefined : JSON.parse(json));
  }
  return { fields, rest: roots.every(isIntrospectionRoot) ? undefined : withoutIntrospection(document) };
}

/** Merges the introspection results into the rest of the response. */
export function withIntrospected(result: ExecutionResult, { fields }: Introspected): ExecutionResult {
  const { data } = result;
  if (!data) return result;
  return {
    ...result,
    data: Object.fromEntries([...fields].map(([key, value]) => [key, value ?? ownValue(data, key) ?? null])),
  };
}

/** Introspection fields only occur at the root of a query, possibly in fragments. */
function withoutIntrospection(document: DocumentNode): DocumentNode {
  return visit(document, {
    [Kind.FIELD]: ({ name }) => (isIntrospection(name.value) ? null : undefined),
  });
}

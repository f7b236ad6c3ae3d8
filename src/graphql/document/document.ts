import {
  GraphQLError,
  Kind,
  NoSchemaIntrospectionCustomRule,
  OperationTypeNode,
  parse,
  specifiedRules,
  type DocumentNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  type OperationDefinitionNode,
} from 'graphql';
import { AppError } from '../../foundation/errors.js';
import type { Steps } from '../steps.js';
import { checkComplexity, checkNesting, type DocumentLimits } from './limits.js';
import { findRequiredVariables } from './requiredVariables.js';
import { fragmentsOf } from './rootFields.js';
import { findVariableShapes, type VariableShape } from './variableShapes.js';
import { validateInSteps } from './validateInSteps.js';

/** One operation of a document, validated against a schema. Cached for the lifetime of the schema. */
export interface ReadyDocument {
  readonly document: DocumentNode;
  readonly operation: OperationDefinitionNode;
  readonly fragments: ReadonlyMap<string, FragmentDefinitionNode>;
  /** One for each variable that influences the plan. */
  readonly variableShapes: readonly VariableShape[];
  /** Nullable variables that must not be null. */
  readonly requiredVariables: ReadonlySet<string>;
  /** The memory that it takes, about: a text of one-letter names takes 240 times its length. */
  readonly bytes: number;
}

/** A request that is invalid regardless of the data; the response lists GraphQL's errors. */
export class DocumentError extends Error {
  constructor(
    readonly error: AppError,
    readonly graphqlErrors: readonly GraphQLError[] = [],
  ) {
    super(error.message, { cause: error });
    this.name = 'DocumentError';
  }
}

/** Of memory, with the node that it is in. */
const BYTES_OF_TOKEN = 500;

/** Maximum validation errors reported per document. */
const MAX_ERRORS = 20;

/** Parses a document, checks its limits and validates it. Throws DocumentError. */
export function* readDocument(
  text: string,
  operationName: string | null,
  schema: GraphQLSchema,
  limits: DocumentLimits & { readonly introspection: boolean },
): Steps<ReadyDocument> {
  yield;
  const document = parseBounded(text, limits);
  yield;
  const rules = limits.introspection ? specifiedRules : [...specifiedRules, NoSchemaIntrospectionCustomRule];
  const errors = yield* validateInSteps(schema, document, rules, MAX_ERRORS);
  yield;
  if (errors.length > 0) throw invalid(errors[0]?.message ?? 'The document is not valid.', errors);
  const operation = chooseOperation(document, operationName);
  const fragments = fragmentsOf(document);
  return {
    document,
    operation,
    fragments,
    variableShapes: findVariableShapes(operation, fragments),
    requiredVariables: findRequiredVariables(schema, operation, fragments),
    bytes: 2 * text.length + BYTES_OF_TOKEN * (document.tokenCount ?? text.length),
  };
}

/** Throws DocumentError. */
export function parseBounded(text: string, limits: DocumentLimits): DocumentNode {
  try {
    checkNesting(text);
    const document = parse(text, { maxTokens: limits.tokens });
    checkComplexity(document, limits);
    return document;
  } catch (error) {
    if (error instanceof AppError) throw new DocumentError(error);
    if (!(error instanceof GraphQLError)) throw error;
    if (error.message.includes('tokens. Parsing aborted')) {
      const message = `The document has more than ${limits.tokens} tokens.`;
      throw new DocumentError(new AppError('DOCUMENT_TOO_COMPLEX', message));
    }
    throw new DocumentError(new AppError('GRAPHQL_SYNTAX', error.message), [error]);
  }
}

function chooseOperation(document: DocumentNode, name: string | null): OperationDefinitionNode {
  const operations = document.definitions.filter((node) => node.kind === Kind.OPERATION_DEFINITION);
  const [first, second] = operations;
  const chosen =
    name === null || name === ''
      ? second === undefined
        ? first
        : undefined
      : operations.find((node) => node.name?.value === name);
  if (chosen?.operation === OperationTypeNode.SUBSCRIPTION) throw invalid('There are no subscriptions.');
  if (chosen) return chosen;
  if (!first) throw invalid('The document has no operation.');
  throw invalid(
    name ? `The document has no operation named "${name}".` : 'operationName must choose one operation.',
  );
}

function invalid(message: string, errors: readonly GraphQLError[] = []): DocumentError {
  return new DocumentError(new AppError('GRAPHQL_VALIDATION', message), errors);
}

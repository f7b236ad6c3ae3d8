import { OperationTypeNode, type FieldNode, type GraphQLSchema } from 'graphql';
import type { Catalog } from '../../db/catalog/catalog.js';
import { sql, wholeNumber, type Sql } from '../../db/sql.js';
import { AppError } from '../../errors.js';
import { aggregateJson } from '../aggregates/aggregateJson.js';
import { FieldError } from '../response.js';
import { containPlaceholders, type FileTerms } from '../files/fileUrls.js';
import { planFileMutation } from '../files/planFileMutation.js';
import type { ReadyDocument } from '../document/document.js';
import type { AliasSource } from '../filter/rows/scope.js';
import type { Policy } from '../policy/policy.js';
import { collectFields } from '../read/collectFields.js';
import { readListArguments } from '../read/listArguments.js';
import { tableNamed, type ReadContext } from '../read/readContext.js';
import { listJson, requireReadable } from '../read/rowsSql.js';
import { selectRows } from '../read/selectRows.js';
import type { Steps } from '../steps.js';
import { planMutation } from '../write/planMutation.js';
import { refuse } from '../write/writeContext.js';
import { statementFields, type Plan, type PlannedField } from './plan.js';
import { plannedStatement } from './plannedStatement.js';

export interface PlanDeps {
  readonly catalog: Catalog;
  readonly schema: GraphQLSchema;
  readonly policy: Policy;
  readonly aliases: AliasSource;
  readonly limits: PlanLimits;
  /** Without them, results contain no file URLs. */
  readonly files?: FileTerms;
  /** Set if the result is for templates. */
  readonly marksNumerics?: boolean;
}

export interface PlanLimits {
  readonly defaultLimit: number;
  readonly maxLimit: number;
  /** Maximum size of one field's result, in bytes. */
  readonly answerBytes: number;
}

/**
 * Compiles one operation for this shape of its variables. In a query, a field that may not be read is null with an error;
 * in a mutation, it throws FieldError, since nothing of the mutation may run.
 */
export function* planOperation(
  ready: ReadyDocument,
  variables: Readonly<Record<string, unknown>>,
  deps: PlanDeps,
): Steps<Plan> {
  const context: ReadContext = {
    catalog: deps.catalog,
    fragments: ready.fragments,
    variables,
    access: deps.policy.access,
    aliases: deps.aliases,
    limits: deps.limits,
    policy: deps.policy,
    files: deps.files,
    marksNumerics: deps.marksNumerics,
  };
  const kind = ready.operation.operation === OperationTypeNode.MUTATION ? 'mutation' : 'query';
  const rootType = kind === 'mutation' ? 'Mutation' : 'Query';
  const fields: PlannedField[] = [];
  for (const [key, nodes] of collectFields(context, rootType, [ready.operation.selectionSet])) {
    yield;
    if (kind === 'mutation') {
      const position = fields.length;
      fields.push(placeErrors([key], nodes, () => planMutationField(context, deps, position, key, nodes)));
    } else {
      fields.push(yield* planQueryField(context, deps, key, nodes));
    }
  }
  const { files } = deps;
  const statements = fields.flatMap(statementFields).flatMap((field) => field.statements);
  const hasFilePlaceholders =
    files !== undefined && statements.some(({ slots }) => containPlaceholders(files, slots));
  return { kind, fields, hasFilePlaceholders };
}

/** Makes PostgreSQL reject a larger result, so that it never reaches this process. */
function bounded(piece: Sql, bytes: number): Sql {
  return sql`select case when octet_length(a.j) <= ${wholeNumber(bytes)} then a.j else ${refuse('answerTooLarge')} end from (${piece}) a(j)`;
}

function* planQueryField(
  context: ReadContext,
  { limits }: PlanDeps,
  key: string,
  nodes: readonly FieldNode[],
): Steps<PlannedField> {
  const [node] = nodes;
  const name = node?.name.value ?? '';
  if (node === undefined || name === '__typename') return { kind: 'constant', key, json: '"Query"' };
  if (name.startsWith('__')) return { kind: 'introspection', key, nodes };
  if (name === 'Utility') return planUtility(context, key, nodes);
  if (name === 'Aggregates') return yield* planAggregates(context, limits, key, nodes);
  return refuseErrors([key], nodes, () => planList(context, limits, key, node, nodes));
}

function planList(
  context: ReadContext,
  limits: PlanLimits,
  key: string,
  node: FieldNode,
  nodes: readonly FieldNode[],
): PlannedField {
  const table = tableNamed(context.catalog, node.name.value);
  requireReadable(context, table);
  const selection = selectRows(
    context,
    table,
    nodes.map((item) => item.selectionSet),
    [key],
  );
  const list = listJson(context, selection, readListArguments(context, node), [key]);
  return {
    kind: 'statement',
    key,
    path: [key],
    nodes,
    statements: [plannedStatement(bounded(list, limits.answerBytes))],
  };
}

function planUtility(context: ReadContext, key: string, nodes: readonly FieldNode[]): PlannedField {
  const sets = nodes.map((item) => item.selectionSet);
  const fields = [...collectFields(context, 'Utility', sets)].map(([inner, [node]]): PlannedField =>
    node?.name.value === '__typename'
      ? { kind: 'constant', key: inner, json: '"Utility"' }
      : { kind: 'utility', key: inner },
  );
  return { kind: 'object', key, fields };
}

/** Each aggregate is a statement of its own, so that one that is rejected doesn't affect the others. */
function* planAggregates(
  context: ReadContext,
  limits: PlanLimits,
  key: string,
  nodes: readonly FieldNode[],
): Steps<PlannedField> {
  const sets = nodes.map((item) => item.selectionSet);
  const fields: PlannedField[] = [];
  for (const [inner, fieldNodes] of collectFields(context, 'Aggregates', sets)) {
    yield;
    const path = [key, inner];
    const field = refuseErrors(path, fieldNodes, (): PlannedField => {
      const [node] = fieldNodes;
      if (node === undefined || node.name.value === '__typename') {
        return { kind: 'constant', key: inner, json: '"Aggregates"' };
      }
      const statements = [plannedStatement(bounded(aggregateJson(context, node), limits.answerBytes))];
      return { kind: 'statement', key: inner, path, nodes: fieldNodes, statements };
    });
    fields.push(field);
  }
  return { kind: 'object', key, fields };
}

function planMutationField(
  context: ReadContext,
  deps: PlanDeps,
  position: number,
  key: string,
  nodes: readonly FieldNode[],
): PlannedField {
  const [node, ...repeated] = nodes;
  if (!node || node.name.value === '__typename') return { kind: 'constant', key, json: '"Mutation"' };
  const writing = { ...context, policy: deps.policy, schema: deps.schema };
  const {
    table,
    statements,
    onlyInserts = false,
  } = planFileMutation(writing, [node, ...repeated]) ??
  planMutation(writing, position, key, [node, ...repeated]);
  return {
    kind: 'statement',
    key,
    path: [key],
    nodes,
    table: table.name,
    onlyInserts,
    statements: statements.map((piece, index) =>
      // A second statement reads what the first has written.
      plannedStatement(index === 0 ? piece : bounded(piece, deps.limits.answerBytes)),
    ),
  };
}

function refuseErrors(
  path: readonly string[],
  nodes: readonly FieldNode[],
  plan: () => PlannedField,
): PlannedField {
  try {
    return placeErrors(path, nodes, plan);
  } catch (error) {
    if (error instanceof FieldError) return { kind: 'refused', key: path.at(-1) ?? '', error };
    throw error;
  }
}

function placeErrors(
  path: readonly string[],
  nodes: readonly FieldNode[],
  plan: () => PlannedField,
): PlannedField {
  try {
    return plan();
  } catch (error) {
    throw error instanceof AppError ? new FieldError(error, path, nodes) : error;
  }
}

import { OperationTypeNode, type GraphQLSchema } from 'graphql';
import type { Catalog } from '../../db/catalog/catalog.js';
import {
  bytesOfStatement,
  compiledStatement,
  type CompiledStatement,
} from '../../db/pool/compiledStatement.js';
import { sql, wholeNumber, type Sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { aggregateJson } from '../aggregates/aggregateJson.js';
import { atField, FieldError } from '../response.js';
import { containPlaceholders, type FileOptions } from '../files/fileUrls.js';
import { planFileMutation } from '../files/planFileMutation.js';
import type { ReadyDocument } from '../document/document.js';
import type { AliasSource } from '../filter/rows/scope.js';
import type { Policy } from '../policy/policy.js';
import { collectFields, type FieldNodes } from '../read/collectFields.js';
import { readListArguments } from '../read/listArguments.js';
import { tableNamed, type ReadContext } from '../read/readContext.js';
import type { RequestFilters } from '../read/requestFilters.js';
import { listJson, requireReadable } from '../read/rowsSql.js';
import { selectRows } from '../read/selectRows.js';
import type { Steps } from '../steps.js';
import { planMutation } from '../write/planMutation.js';
import { refuse } from '../write/writeContext.js';
import { statementFields, type Plan, type PlannedField } from './plan.js';

export interface PlanDeps {
  readonly catalog: Catalog;
  readonly schema: GraphQLSchema;
  readonly policy: Policy;
  readonly aliases: AliasSource;
  readonly filters: RequestFilters;
  readonly limits: PlanLimits;
  /** Without them, results contain no file URLs. */
  readonly files?: FileOptions;
  /** Set if the result is for templates. */
  readonly marksNumerics?: boolean;
}

export interface PlanLimits {
  readonly defaultLimit: number;
  readonly maxLimit: number;
  /** Maximum size of one field's result, in bytes. */
  readonly responseBytes: number;
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
    filters: deps.filters,
    limits: deps.limits,
    policy: deps.policy,
    files: deps.files,
    marksNumerics: deps.marksNumerics,
  };
  const size = new PlanSize();
  const kind = ready.operation.operation === OperationTypeNode.MUTATION ? 'mutation' : 'query';
  const rootType = kind === 'mutation' ? 'Mutation' : 'Query';
  const fields: PlannedField[] = [];
  for (const [key, nodes] of collectFields(context, rootType, [ready.operation])) {
    yield;
    size.check();
    context.filters.startField();
    if (kind === 'mutation') {
      const position = fields.length;
      const plan = (): PlannedField => planMutationField(context, deps, size, position, key, nodes);
      fields.push(yield* deps.policy.inSteps(() => atField([key], nodes, plan)));
    } else {
      fields.push(yield* planQueryField(context, deps, size, key, nodes));
    }
  }
  const { files } = deps;
  const statements = fields.flatMap(statementFields).flatMap((field) => field.statements);
  const hasFilePlaceholders =
    files !== undefined && statements.some(({ slots }) => containPlaceholders(files, slots));
  return { kind, fields, hasFilePlaceholders };
}

/** Of the statements of one operation, as `bytesOfStatement` has it: those of several tenants may be planned at a time. */
const MAX_PLAN_BYTES = 128_000_000;

class PlanSize {
  #bytes = 0;

  /** Throws AppError DOCUMENT_TOO_COMPLEX, as `compiledStatement` does. */
  counted(piece: Sql): CompiledStatement {
    const compiled = compiledStatement(piece);
    this.#bytes += bytesOfStatement(compiled);
    return compiled;
  }

  /** Throws AppError DOCUMENT_TOO_COMPLEX. */
  check(): void {
    if (this.#bytes <= MAX_PLAN_BYTES) return;
    throw new AppError('DOCUMENT_TOO_COMPLEX', 'The statements of the request take too much memory.', {
      hint: 'Send fewer fields or values in one request; many rows go into one field, create_many_….',
    });
  }
}

/** Makes PostgreSQL reject a larger result, so that it never reaches this process. */
function bounded(piece: Sql, bytes: number): Sql {
  return sql`select case when pg_catalog.octet_length(a.j) operator(pg_catalog.<=) ${wholeNumber(bytes)} then a.j else ${refuse('responseTooLarge')} end from (${piece}) a(j)`;
}

function* planQueryField(
  context: ReadContext,
  { limits, policy }: PlanDeps,
  size: PlanSize,
  key: string,
  nodes: FieldNodes,
): Steps<PlannedField> {
  const name = nodes[0].name.value;
  if (name === '__typename') return { kind: 'constant', key, json: '"Query"' };
  if (name.startsWith('__')) return { kind: 'introspection', key, nodes };
  if (name === 'Utility') return planUtility(context, key, nodes);
  if (name === 'Aggregates') return yield* planAggregates(context, { limits, policy }, size, key, nodes);
  const plan = (): PlannedField => planList(context, limits, size, key, nodes);
  return yield* policy.inSteps(() => refuseErrors([key], nodes, plan));
}

function planList(
  context: ReadContext,
  limits: PlanLimits,
  size: PlanSize,
  key: string,
  nodes: FieldNodes,
): PlannedField {
  const [node] = nodes;
  const table = tableNamed(context.catalog, node.name.value);
  requireReadable(context, table);
  const selection = selectRows(context, table, nodes, [key]);
  const list = listJson(context, selection, readListArguments(context, node), [key]);
  return {
    kind: 'statement',
    key,
    path: [key],
    nodes,
    statements: [size.counted(bounded(list, limits.responseBytes))],
  };
}

function planUtility(context: ReadContext, key: string, nodes: FieldNodes): PlannedField {
  const fields = Array.from(collectFields(context, 'Utility', nodes), ([inner, [node]]): PlannedField =>
    node.name.value === '__typename'
      ? { kind: 'constant', key: inner, json: '"Utility"' }
      : { kind: 'utility', key: inner },
  );
  return { kind: 'object', key, fields };
}

/** Each aggregate is a statement of its own, so that one that is rejected doesn't affect the others. */
function* planAggregates(
  context: ReadContext,
  { limits, policy }: Pick<PlanDeps, 'limits' | 'policy'>,
  size: PlanSize,
  key: string,
  nodes: FieldNodes,
): Steps<PlannedField> {
  const fields: PlannedField[] = [];
  for (const [inner, fieldNodes] of collectFields(context, 'Aggregates', nodes)) {
    yield;
    size.check();
    context.filters.startField();
    const path = [key, inner];
    const plan = (): PlannedField => {
      const [node] = fieldNodes;
      if (node.name.value === '__typename') return { kind: 'constant', key: inner, json: '"Aggregates"' };
      const statements = [size.counted(bounded(aggregateJson(context, node), limits.responseBytes))];
      return { kind: 'statement', key: inner, path, nodes: fieldNodes, statements };
    };
    fields.push(yield* policy.inSteps(() => refuseErrors(path, fieldNodes, plan)));
  }
  return { kind: 'object', key, fields };
}

function planMutationField(
  context: ReadContext,
  deps: PlanDeps,
  size: PlanSize,
  position: number,
  key: string,
  nodes: FieldNodes,
): PlannedField {
  if (nodes[0].name.value === '__typename') return { kind: 'constant', key, json: '"Mutation"' };
  const writing = { ...context, policy: deps.policy, schema: deps.schema };
  const planned = planFileMutation(writing, nodes) ?? planMutation(writing, position, key, nodes);
  const { table, statements, onlyInserts = false } = planned;
  return {
    kind: 'statement',
    key,
    path: [key],
    nodes,
    table: table.name,
    onlyInserts,
    statements: statements.map((piece, index) =>
      // A second statement reads what the first has written.
      size.counted(index === 0 ? piece : bounded(piece, deps.limits.responseBytes)),
    ),
  };
}

function refuseErrors(path: readonly string[], nodes: FieldNodes, plan: () => PlannedField): PlannedField {
  try {
    return atField(path, nodes, plan);
  } catch (error) {
    if (error instanceof FieldError) return { kind: 'refused', key: path.at(-1) ?? '', error };
    throw error;
  }
}

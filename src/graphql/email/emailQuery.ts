import { OperationTypeNode } from 'graphql';
import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { Catalog } from '../../db/catalog/catalog.js';
import type { Reads } from '../../db/failover/replica.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError, type ErrorDetails } from '../../foundation/errors.js';
import type { Span } from '../../foundation/observability/tracing/tracing.js';
import { FieldError } from '../response.js';
import { DocumentError, type ReadyDocument } from '../document/document.js';
import { withCurrentCatalog } from '../currentCatalog.js';
import type { Engine } from '../engine.js';
import { runPlan } from '../execute.js';
import { createAliasSource } from '../filter/rows/scope.js';
import type { PlannedField } from '../plan/plan.js';
import { introspectFields } from '../introspectFields.js';
import { emailPlans, tenantPlans } from '../plan/planOwner.js';
import { planOperation } from '../plan/planOperation.js';
import { planRequest } from '../plan/planRequest.js';
import { unrestricted } from '../policy/policy.js';
import { RequestFilters } from '../read/requestFilters.js';
import type { Steps } from '../steps.js';

/** A query of an email type with its arguments, after its filters were rendered. */
export interface EmailQuery {
  readonly query: string;
  readonly filter?: string;
  readonly ordering?: readonly string[];
  readonly limit?: number;
  readonly offset?: number;
}

const TEMPLATED =
  'The query is no template, its filter is: write query ($filter: String) { orders(filter: $filter) { … } }.';

const VARIABLES = ['filter', 'ordering', 'limit', 'offset'];

/**
 * Throws AppError EMAIL_QUERY_INVALID, with line and column, if the query can't run on these tables with the given
 * arguments, whoever the caller is.
 */
export function* validateEmailQuery(
  engine: Engine,
  tenantid: number,
  catalog: Catalog,
  { query, ...variables }: EmailQuery,
): Steps<void> {
  const tenantSchema = engine.schemas.of(catalog);
  try {
    const { ready } = yield* engine.plans.document(tenantPlans(tenantid), tenantSchema, query, null);
    checkOperation(ready);
    const plan = yield* planOperation(ready, variables, {
      catalog,
      schema: tenantSchema.schema,
      policy: unrestricted,
      aliases: createAliasSource(),
      filters: new RequestFilters(),
      limits: engine.limits,
    });
    throwRefusals(plan.fields);
  } catch (error) {
    throw asInvalid(error, query.includes('{{') ? TEMPLATED : undefined);
  }
}

export interface EmailQueryResult {
  /** JSON text: the value of the single root field, or an object with all of them. */
  readonly json: string;
  /**
   * Storage keys of the files in `json`, in the same order: only those from `thefiles`, never values that merely look like one.
   */
  readonly files: readonly string[];
}

export interface EmailQueryOptions {
  readonly span?: Span | undefined;
  /** Where to read; the primary by default. */
  readonly reads?: Reads | undefined;
  /** Takes the result, which counts as a response in flight until `release` is called. If it throws, there is none. */
  readonly hold?: ((json: string, release: () => void) => void) | undefined;
}

/**
 * Runs the query read-only under the principal's rules. Throws AppError: EMAIL_QUERY_INVALID, or the error of a field.
 */
export async function runEmailQuery(
  engine: Engine,
  principal: Principal,
  query: EmailQuery,
  { span, reads, hold = (_json, release) => release() }: EmailQueryOptions = {},
): Promise<EmailQueryResult> {
  const reservation = engine.responses.open(principal.tenantid);
  try {
    const result = await readEmailQuery(engine, principal, query, { span, reads, reservation });
    hold(result.json, reservation.release);
    return result;
  } catch (error) {
    reservation.release();
    throw error;
  }
}

async function readEmailQuery(
  engine: Engine,
  principal: Principal,
  { query, ...variables }: EmailQuery,
  {
    span,
    reads,
    reservation,
  }: Omit<EmailQueryOptions, 'hold'> & { readonly reservation: ResponseReservation },
): Promise<EmailQueryResult> {
  const files: string[] = [];
  const email = { onFile: (storagekey: string) => files.push(storagekey) };
  const { fields, errors } = await withCurrentCatalog(engine.catalogs, principal, async (catalog) => {
    // An email's query doesn't wait for callers' planning.
    const planOwner = emailPlans(principal.tenantid);
    const request = planRequest(engine, principal, catalog, { query, variables }, true);
    const planned = await engine.planning.run(planOwner, request);
    if (planned.plan.kind === 'mutation') throw mutationError();
    const introspections = await introspectFields(engine, planOwner, planned, reservation);
    return runPlan(engine, principal, catalog, planned, { reservation, span, reads, introspections, email });
  }).catch((error: unknown) => {
    if (error instanceof DocumentError) throw asInvalid(error);
    throw error instanceof FieldError ? error.error : error;
  });
  const [error] = errors;
  if (error) throw error.error;
  const [first, second] = fields;
  if (first && !second) return { json: first[1], files };
  return { json: `{${fields.map(([key, json]) => `"${key}":${json}`).join(',')}}`, files };
}

function checkOperation({ operation }: ReadyDocument): void {
  if (operation.operation !== OperationTypeNode.QUERY) {
    throw mutationError(place(operation.loc?.startToken));
  }
  for (const { variable } of operation.variableDefinitions ?? []) {
    const name = variable.name.value;
    if (VARIABLES.includes(name)) continue;
    throw new AppError('EMAIL_QUERY_INVALID', `Variable ${name} has no value.`, {
      hint: `Variables of the query must be named ${VARIABLES.join(', ')}.`,
      details: place(variable.loc?.startToken),
    });
  }
}

function throwRefusals(fields: readonly PlannedField[]): void {
  for (const field of fields) {
    if (field.kind === 'refused') throw field.error;
    if (field.kind === 'object') throwRefusals(field.fields);
  }
}

function asInvalid(error: unknown, hint?: string): unknown {
  if (error instanceof DocumentError) {
    const [first] = error.graphqlErrors;
    return invalid(first?.message ?? error.message, place(first?.locations?.[0]), error, hint);
  }
  if (error instanceof FieldError) {
    return invalid(
      error.message,
      { ...error.error.details, ...place(error.nodes[0]?.loc?.startToken) },
      error,
      hint,
    );
  }
  return error;
}

function invalid(message: string, details: ErrorDetails, cause: Error, hint?: string): AppError {
  return new AppError('EMAIL_QUERY_INVALID', message, { details, cause, hint });
}

function mutationError(details?: ErrorDetails): AppError {
  return new AppError('EMAIL_QUERY_INVALID', 'The queries of an email type must not be mutations.', {
    details,
  });
}

function place(at: { readonly line: number; readonly column: number } | undefined): ErrorDetails {
  return at ? { line: at.line, column: at.column } : {};
}

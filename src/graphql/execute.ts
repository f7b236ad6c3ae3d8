import type { ResponseReservation } from '../db/pool/responseBudget.js';
import type { Catalog } from '../db/catalog/catalog.js';
import type { Principal } from '../db/roles/principal.js';
import type { Reads } from '../db/failover/replica.js';
import { AppError } from '../foundation/errors.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { Allowance } from './allowance.js';
import { assemble, type IntrospectionResults } from './assemble.js';
import { bindStatements, inputsOf } from './bindStatements.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { Engine } from './engine.js';
import type { FilesOfEmail } from './files/fileUrls.js';
import { bracketOf, requireNewKey, type Idempotency } from './idempotency.js';
import { introspectFields } from './introspectFields.js';
import { planOwnerOf } from './plan/planOwner.js';
import { planRequest, type GraphqlRequest, type PlannedRequest } from './plan/planRequest.js';
import { principalInputs } from './policy/policy.js';
import { respond, type Execution, type GraphqlResponse } from './response.js';
import { runTransaction } from './runTransaction.js';
import { runUtilities } from './runUtilities.js';
import { rowsToWrite } from './write/rowsToWrite.js';

export interface RunOptions {
  /** Counts the bytes of the response. */
  readonly reservation: ResponseReservation;
  readonly span?: Span | undefined;
  /** Where a query reads; the primary by default. */
  readonly reads?: Reads | undefined;
  readonly idempotency?: Idempotency | undefined;
  readonly introspections?: IntrospectionResults | undefined;
  /** Given if the result goes into an email: collects its files. */
  readonly email?: FilesOfEmail;
}

export interface ExecuteOptions extends RunOptions {
  readonly allowMutation: boolean;
  /** What an anonymous client may write. */
  readonly allowance?: Allowance | undefined;
}

/** request → plan → statements → transaction → response. Throws DocumentError, FieldError, AppError. */
export function execute(
  engine: Engine,
  principal: Principal,
  request: GraphqlRequest,
  options: ExecuteOptions,
): Promise<GraphqlResponse> {
  const { planning, limiter } = engine;
  return withCurrentCatalog(engine.catalogs, principal, async (catalog) => {
    const planOwner = planOwnerOf(principal);
    const planned = await planning.run(planOwner, planRequest(engine, principal, catalog, request));
    if (planned.plan.kind === 'mutation') await admitMutation(principal, planned, options);
    const introspections = await introspectFields(engine, planOwner, planned, options.reservation);
    const execution = await limiter.run(principal.tenantid, () =>
      runPlan(engine, principal, catalog, planned, { introspections, ...options }),
    );
    return respond(execution, options.reservation);
  });
}

/** statements → transaction → results. A query of an email starts here, with a plan of its own. */
export async function runPlan(
  engine: Engine,
  principal: Principal,
  catalog: Catalog,
  { plan, variables, filters }: PlannedRequest,
  { reservation, span, reads, idempotency, introspections, email }: RunOptions,
): Promise<Execution> {
  const bound = bindStatements(plan, inputsOf(variables, filters, principalInputs(principal)));
  const results = await runTransaction(bound, {
    transactions: reads ?? engine.transactions,
    tenantid: principal.tenantid,
    catalog,
    seesAll: principal.isAdmin,
    reservation,
    span,
    rewrite: plan.hasFilePlaceholders ? (json) => engine.fileUrls.write(json, principal, email) : undefined,
    bracket: idempotency && plan.kind === 'mutation' ? bracketOf(principal, plan, idempotency) : undefined,
  });
  if (plan.kind === 'mutation') engine.onCommitted?.();
  const utilities = await runUtilities(engine, principal, catalog.schema, plan, reservation);
  return assemble(plan, { results, utilities, introspections });
}

/** Throws AppError METHOD_NOT_ALLOWED, TENANT_MOVING, IDEMPOTENCY_KEY_REUSED, RATE_LIMITED. */
async function admitMutation(
  { areWritesHeld }: Principal,
  planned: PlannedRequest,
  { allowMutation, idempotency, allowance }: ExecuteOptions,
): Promise<void> {
  if (!allowMutation) throw new AppError('METHOD_NOT_ALLOWED', 'Mutations must be sent with POST.');
  if (areWritesHeld) throw new AppError('TENANT_MOVING', 'The tenant is moving to another cell.');
  requireNewKey(idempotency);
  // A kept key is a row as well.
  await allowance?.spend('rows', Math.max(rowsToWrite(planned), idempotency ? 1 : 0));
}

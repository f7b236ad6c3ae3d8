import type { GraphQLSchema } from 'graphql';
import type { AnswerBudget, AnswerShare } from '../db/pool/answerBudget.js';
import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Principal } from '../db/roles/principal.js';
import type { Reads } from '../db/failover/replica.js';
import type { Transactions } from '../db/pool/transactions.js';
import { AppError } from '../foundation/errors.js';
import type { Span } from '../foundation/observability/tracing/tracing.js';
import type { Allowance } from './allowance.js';
import { dataResponse, FieldError } from './response.js';
import { assemble, type Execution } from './assemble.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { FilesOfEmail } from './files/fileUrls.js';
import { claimKey, keepAnswer, requireNewKey, type Idempotency } from './idempotency.js';
import { introspect } from './introspect.js';
import type { IntrospectionField, Plan } from './plan/plan.js';
import { planOwnerOf } from './plan/planOwner.js';
import type { PlanningQueue } from './plan/planningQueue.js';
import {
  prepareRequest,
  type GraphqlRequest,
  type PrepareDeps,
  type PreparedRequest,
} from './plan/planRequest.js';
import { principalInputs } from './policy/policy.js';
import { inputsOf, runPlan, type FieldResult } from './runTransaction.js';
import { runUtilities } from './runUtilities.js';
import type { TenantSchemas } from './schema/tenantSchema.js';
import { visibleCatalog } from './schema/visibleCatalog.js';
import { complete, type Steps } from './steps.js';
import type { TenantGate } from '../foundation/limits/tenantGate.js';
import { rowsToWrite } from './write/rowsToWrite.js';

export interface EngineDeps extends PrepareDeps {
  readonly catalogs: CatalogStore;
  readonly schemas: TenantSchemas;
  readonly planning: PlanningQueue;
  readonly transactions: Transactions;
  readonly answers: AnswerBudget;
  readonly gate: TenantGate;
  /** Called after each commit of a mutation. */
  readonly onCommitted?: () => void;
}

export interface ExecuteOptions {
  readonly allowMutation: boolean;
  /** Counts the bytes of the response. */
  readonly answer: AnswerShare;
  /** Given if the result goes into an email: collects its files. */
  readonly email?: FilesOfEmail;
  /** What an anonymous visitor may write. */
  readonly allowance?: Allowance | undefined;
  readonly idempotency?: Idempotency | undefined;
  readonly span?: Span | undefined;
  /** Where a query reads; the primary by default. */
  readonly reads?: Reads | undefined;
}

/** request → plan → statements → transaction → response. Throws DocumentError, FieldError, AppError. */
export async function executeRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
  { allowMutation, answer, email, allowance, idempotency, span, reads }: ExecuteOptions,
): Promise<Execution> {
  const { tenantid } = principal;
  const schema = schemaOf(principal);
  return withCurrentCatalog(deps.catalogs, tenantid, schema, async (catalog) => {
    const tenantSchema = deps.schemas.of(email ? catalog : visibleCatalog(principal, catalog));
    const steps = prepareRequest(
      deps,
      principal,
      { ...tenantSchema, whole: catalog },
      request,
      email !== undefined,
    );
    const owner = planOwnerOf(principal);
    // An email's query doesn't wait for callers' planning.
    const prepared = email ? complete(steps) : await deps.planning.run(owner, steps);
    const { variables, plan } = prepared;
    if (plan.kind === 'mutation') {
      if (!allowMutation) throw new AppError('METHOD_NOT_ALLOWED', 'Mutations must be sent with POST.');
      requireNewKey(idempotency);
    }
    const introspections = plan.fields.some(({ kind }) => kind === 'introspection')
      ? await deps.planning.run(
          owner,
          introspectFields(prepared, tenantSchema.schema, deps.limits.answerBytes, answer),
        )
      : NONE;
    const inputs = inputsOf(variables, deps.filters, principalInputs(principal));
    if (allowance && plan.kind === 'mutation') {
      // A kept key is a row as well.
      await allowance.spend('rows', Math.max(rowsToWrite(prepared), idempotency ? 1 : 0));
    }
    const run = async (): Promise<Execution> => {
      const results = await runPlan(plan, {
        transactions: reads ?? deps.transactions,
        tenantid,
        inputs,
        answer,
        catalog,
        span,
        write: plan.hasFilePlaceholders ? (json) => deps.fileUrls.write(json, principal, email) : undefined,
        bracket:
          idempotency && plan.kind === 'mutation'
            ? {
                before: claimKey(principal, idempotency),
                after: (given) => {
                  const { fields, errors } = assemble(plan, {
                    results: given,
                    utilities: new Map(),
                    introspections,
                  });
                  return keepAnswer(principal, idempotency, dataResponse(fields, errors).body);
                },
              }
            : undefined,
      });
      if (plan.kind === 'mutation') deps.onCommitted?.();
      const utilities = await runUtilities(plan, deps, principal, schema, answer);
      return assemble(plan, { results, utilities, introspections });
    };
    // Email queries are bounded by the worker's slots.
    return email ? run() : deps.gate.run(tenantid, run);
  });
}

/** Plans a request without running it. Throws DocumentError, FieldError, AppError. */
export async function planRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
): Promise<Plan> {
  const { tenantid } = principal;
  const schema = schemaOf(principal);
  return withCurrentCatalog(deps.catalogs, tenantid, schema, (catalog) => {
    const tenantSchema = { ...deps.schemas.of(visibleCatalog(principal, catalog)), whole: catalog };
    return complete(prepareRequest(deps, principal, tenantSchema, request, false)).plan;
  });
}

/** The schema of the tenant's tables. Throws AppError TENANT_NOT_FOUND for the installation. */
export function schemaOf({ schema }: Principal): string {
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  return schema;
}

const NONE: ReadonlyMap<IntrospectionField, FieldResult> = new Map();

/** Results of `__schema` and `__type`. */
function* introspectFields(
  { plan, ready: { fragments }, variables }: PreparedRequest,
  schema: GraphQLSchema,
  maxCharacters: number,
  answer: AnswerShare,
): Steps<typeof NONE> {
  const results = new Map<IntrospectionField, FieldResult>();
  for (const field of plan.fields) {
    if (field.kind !== 'introspection') continue;
    const json = yield* introspect({ schema, fragments, variables, maxCharacters }, field.nodes);
    const error = answer.take(json.length);
    if (error) throw new FieldError(error, [field.key], field.nodes);
    results.set(field, json);
  }
  return results;
}

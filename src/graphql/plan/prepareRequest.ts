import type { Catalog } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/principal.js';
import type { Logger } from '../../log.js';
import type { ReadyDocument } from '../document/document.js';
import { shapeKey } from '../document/shapers.js';
import { coerceVariables } from '../document/variables.js';
import type { FileUrls } from '../files/fileUrls.js';
import { createAliasSource } from '../filter/scope.js';
import { policyFingerprint, policyOf } from '../policy/policy.js';
import type { TenantSchema } from '../schema/tenantSchema.js';
import type { Steps } from '../steps.js';
import type { FilterTexts } from './filterTexts.js';
import type { Plan } from './plan.js';
import type { PlanCache } from './planCache.js';
import { plannerOf } from './planner.js';
import { planOperation, type PlanLimits } from './planOperation.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface PrepareDeps {
  readonly plans: PlanCache;
  readonly filters: FilterTexts;
  readonly limits: PlanLimits;
  readonly fileUrls: FileUrls;
  readonly log: Logger;
}

export interface PreparedRequest {
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly plan: Plan;
}

/** A hit in the caches parses, validates and builds nothing. */
export function* prepareRequest(
  deps: PrepareDeps,
  principal: Principal,
  tenantSchema: TenantSchema & { readonly whole: Catalog },
  request: GraphqlRequest,
  isForTemplates: boolean,
): Steps<PreparedRequest> {
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const planner = plannerOf(principal);
  const { ready, id } = yield* deps.plans.document(planner, tenantSchema, query, operationName);
  const variables = coerceVariables(schema, ready, request.variables);
  const shape = shapeKey(ready.shapers, variables, deps.filters);
  const rules = `${isForTemplates ? 'templates ' : ''}${policyFingerprint(principal)}`;
  const plan = yield* deps.plans.plan(planner, id, rules, shape, () => {
    const aliases = createAliasSource();
    const policy = policyOf(principal, { catalog: tenantSchema.whole, aliases, log: deps.log });
    const files = deps.fileUrls.terms;
    return planOperation(ready, variables, {
      catalog,
      schema,
      policy,
      aliases,
      limits: deps.limits,
      files,
      marksNumerics: isForTemplates,
    });
  });
  return { ready, variables, plan };
}

import type { Catalog } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/roles/principal.js';
import type { ReadyDocument } from '../document/document.js';
import { shapeKey } from '../document/variableShapes.js';
import { coerceVariables } from '../document/variables.js';
import type { FileUrls } from '../files/fileUrls.js';
import { createAliasSource } from '../filter/rows/scope.js';
import type { BrokenRules } from '../policy/brokenRules.js';
import { policyFingerprint, policyOf } from '../policy/policy.js';
import type { TenantSchema } from '../schema/tenantSchema.js';
import type { Steps } from '../steps.js';
import type { ParsedFilters } from './parsedFilters.js';
import type { Plan } from './plan.js';
import type { PlanCache } from './planCache.js';
import { planOwnerOf } from './planOwner.js';
import { planOperation, type PlanLimits } from './planOperation.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface PrepareDeps {
  readonly plans: PlanCache;
  readonly filters: ParsedFilters;
  readonly limits: PlanLimits;
  readonly fileUrls: FileUrls;
  readonly brokenRules: BrokenRules;
}

export interface PreparedRequest {
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly plan: Plan;
}

/** On a cache hit, nothing is parsed, validated or built. */
export function* prepareRequest(
  deps: PrepareDeps,
  principal: Principal,
  tenantSchema: TenantSchema & { readonly whole: Catalog },
  request: GraphqlRequest,
  isForTemplates: boolean,
): Steps<PreparedRequest> {
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const owner = planOwnerOf(principal);
  const known = yield* deps.plans.document(owner, tenantSchema, query, operationName);
  const { ready } = known;
  const variables = coerceVariables(schema, ready, request.variables);
  const shape = shapeKey(ready.variableShapes, variables, deps.filters);
  const rules = `${isForTemplates ? 'templates ' : ''}${policyFingerprint(principal)}`;
  const plan = yield* deps.plans.plan(owner, known, rules, shape, () => {
    const aliases = createAliasSource();
    const { brokenRules } = deps;
    const policy = policyOf(principal, { catalog: tenantSchema.whole, aliases, brokenRules });
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

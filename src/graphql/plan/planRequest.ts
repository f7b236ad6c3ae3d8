import type { GraphQLSchema } from 'graphql';
import type { Catalog } from '../../db/catalog/catalog.js';
import type { Principal } from '../../db/roles/principal.js';
import type { ReadyDocument } from '../document/document.js';
import { shapeKey } from '../document/variableShapes.js';
import { coerceVariables } from '../document/variables.js';
import type { Engine } from '../engine.js';
import { createAliasSource } from '../filter/rows/scope.js';
import { policyFingerprint, policyOf } from '../policy/policy.js';
import { RequestFilters } from '../read/requestFilters.js';
import { visibleCatalog } from '../schema/visibleCatalog.js';
import type { Steps } from '../steps.js';
import type { Plan } from './plan.js';
import { planOwnerOf } from './planOwner.js';
import { planOperation } from './planOperation.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface PlannedRequest {
  readonly schema: GraphQLSchema;
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly filters: RequestFilters;
  readonly plan: Plan;
}

/** On a cache hit, nothing is parsed, validated or built. */
export function* planRequest(
  engine: Engine,
  principal: Principal,
  wholeCatalog: Catalog,
  request: GraphqlRequest,
  isForTemplates = false,
): Steps<PlannedRequest> {
  const tenantSchema = engine.schemas.of(
    isForTemplates ? wholeCatalog : visibleCatalog(principal, wholeCatalog),
  );
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const owner = planOwnerOf(principal);
  const known = yield* engine.plans.document(owner, tenantSchema, query, operationName);
  const { ready } = known;
  const variables = coerceVariables(schema, ready, request.variables);
  const filters = new RequestFilters(engine.filters);
  const shape = yield* shapeKey(ready.variableShapes, variables, filters);
  const rules = `${isForTemplates ? 'templates ' : ''}${policyFingerprint(principal)}`;
  const plan = yield* engine.plans.plan(owner, known, rules, shape, () => {
    const aliases = createAliasSource();
    const { brokenRules } = engine;
    const policy = policyOf(principal, { catalog: wholeCatalog, aliases, brokenRules });
    const files = engine.fileUrls.options;
    return planOperation(ready, variables, {
      catalog,
      schema,
      policy,
      aliases,
      filters,
      limits: engine.limits,
      files,
      marksNumerics: isForTemplates,
    });
  });
  return { schema, ready, variables, filters, plan };
}

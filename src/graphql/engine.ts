import { executeSync, Kind, type DocumentNode, type SelectionNode } from 'graphql';
import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Principal } from '../db/principal.js';
import { tenantRole, type Transactions } from '../db/tenantTransaction.js';
import { AppError } from '../errors.js';
import type { Logger } from '../log.js';
import type { FieldError } from './answer.js';
import { withCurrentCatalog } from './currentCatalog.js';
import type { ReadyDocument } from './document/document.js';
import { shapeKey } from './document/shapers.js';
import { coerceVariables } from './document/variables.js';
import { createAliasSource } from './filter/scope.js';
import type { FilterTexts } from './plan/filterTexts.js';
import type { Plan, PlannedField, StatementField } from './plan/plan.js';
import type { PlanCache } from './plan/planCache.js';
import { planOperation } from './plan/planOperation.js';
import { policyFingerprint, policyOf, principalInputs } from './policy/policy.js';
import { inputsOf, runPlan, type FieldResult } from './runPlan.js';
import type { TenantSchema, TenantSchemas } from './schema/tenantSchema.js';

export interface GraphqlRequest {
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>> | null;
  readonly operationName?: string | null;
}

export interface EngineDeps {
  readonly catalogs: CatalogStore;
  readonly schemas: TenantSchemas;
  readonly plans: PlanCache;
  readonly filters: FilterTexts;
  readonly transactions: Transactions;
  readonly limits: { readonly defaultLimit: number; readonly maxLimit: number };
  readonly log: Logger;
  /** A mutation was committed. */
  readonly onCommitted?: () => void;
}

/** What an operation gave: JSON text by response key, in the order of the document. */
export interface Execution {
  readonly fields: readonly (readonly [key: string, json: string])[];
  readonly errors: readonly FieldError[];
}

interface PreparedRequest {
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly plan: Plan;
}

/** request → plan → statements → transaction → answer. Throws DocumentError, FieldError, AppError. */
export async function executeRequest(
  deps: EngineDeps,
  principal: Principal,
  request: GraphqlRequest,
  allowMutation: boolean,
): Promise<Execution> {
  const { tenantid, schema } = principal;
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  return withCurrentCatalog(deps.catalogs, tenantid, schema, async (catalog) => {
    const tenantSchema = deps.schemas.of(catalog);
    const { ready, variables, plan } = prepare(deps, principal, tenantSchema, request);
    if (plan.kind === 'mutation' && !allowMutation) {
      throw new AppError('METHOD_NOT_ALLOWED', 'A mutation can only be sent by POST.');
    }
    const inputs = inputsOf(plan, variables, deps.filters, principalInputs(principal));
    const results = await runPlan(plan, deps.transactions, tenantRole(tenantid), inputs);
    if (plan.kind === 'mutation') deps.onCommitted?.();
    return assemble(deps, { principal, schema, tenantSchema, ready, variables }, plan, results);
  });
}

/** A hit in the caches parses, validates and builds nothing. */
function prepare(
  deps: EngineDeps,
  principal: Principal,
  tenantSchema: TenantSchema,
  request: GraphqlRequest,
): PreparedRequest {
  const { catalog, schema } = tenantSchema;
  const { query, operationName = null } = request;
  const { ready, id } = deps.plans.document(principal.tenantid, tenantSchema, query, operationName);
  const variables = coerceVariables(schema, ready, request.variables ?? {});
  const shape = shapeKey(ready.shapers, variables, deps.filters);
  const plan = deps.plans.plan(id, policyFingerprint(principal), shape, () => {
    const aliases = createAliasSource();
    const policy = policyOf(principal, { catalog, aliases, log: deps.log });
    return planOperation(ready, variables, { catalog, schema, policy, aliases, limits: deps.limits });
  });
  return { ready, variables, plan };
}

interface AssemblyScope {
  readonly principal: Principal;
  readonly schema: string;
  readonly tenantSchema: TenantSchema;
  readonly ready: ReadyDocument;
  readonly variables: Readonly<Record<string, unknown>>;
}

/** The texts that PostgreSQL wrote, put side by side. */
async function assemble(
  deps: EngineDeps,
  scope: AssemblyScope,
  plan: Plan,
  results: ReadonlyMap<StatementField, FieldResult>,
): Promise<Execution> {
  const errors: FieldError[] = [];
  const textOf = async (field: PlannedField): Promise<string> => {
    switch (field.kind) {
      case 'statement': {
        const result = results.get(field) ?? 'null';
        if (typeof result === 'string') return result;
        errors.push(result);
        return 'null';
      }
      case 'constant':
        return field.json;
      case 'refused':
        errors.push(field.error);
        return 'null';
      case 'introspection':
        return introspect(scope, field.key);
      case 'utility':
        await deps.catalogs.introspect(scope.principal.tenantid, scope.schema);
        return 'true';
      case 'object': {
        const inner: string[] = [];
        for (const item of field.fields) inner.push(`"${item.key}":${await textOf(item)}`);
        return `{${inner.join(',')}}`;
      }
    }
  };
  const fields: [string, string][] = [];
  for (const field of plan.fields) fields.push([field.key, await textOf(field)]);
  return { fields, errors };
}

/** graphql-js answers `__schema` and `__type`, from the schema alone. */
function introspect({ tenantSchema, ready, variables }: AssemblyScope, key: string): string {
  const asksForKey = (node: SelectionNode): boolean =>
    node.kind !== Kind.FIELD || (node.alias?.value ?? node.name.value) === key;
  const document: DocumentNode = {
    ...ready.document,
    definitions: ready.document.definitions.map((node) =>
      node === ready.operation
        ? {
            ...ready.operation,
            selectionSet: {
              ...ready.operation.selectionSet,
              selections: ready.operation.selectionSet.selections.filter(asksForKey),
            },
          }
        : node,
    ),
  };
  const { data } = executeSync({
    schema: tenantSchema.schema,
    document,
    variableValues: variables,
    ...(ready.operation.name ? { operationName: ready.operation.name.value } : {}),
  });
  return JSON.stringify(data?.[key] ?? null);
}

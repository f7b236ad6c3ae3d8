import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Principal } from '../db/principal.js';
import { AppError } from '../errors.js';
import { FieldError } from './answer.js';
import type { Plan, UtilityField } from './plan/plan.js';
import type { FieldResult } from './runPlan.js';

/** Carries out the fields of `Utility` that were asked for. Throws what pg throws. */
export async function runUtilities(
  plan: Plan,
  catalogs: CatalogStore,
  principal: Principal,
  schema: string,
): Promise<ReadonlyMap<UtilityField, FieldResult>> {
  const results = new Map<UtilityField, FieldResult>();
  for (const field of plan.fields) {
    if (field.kind !== 'object') continue;
    for (const inner of field.fields) {
      if (inner.kind !== 'utility') continue;
      results.set(inner, await introspect(catalogs, principal, schema, [field.key, inner.key]));
    }
  }
  return results;
}

async function introspect(
  catalogs: CatalogStore,
  principal: Principal,
  schema: string,
  path: readonly string[],
): Promise<FieldResult> {
  if (!principal.isAdmin) {
    const message = 'Only root and roles with admin may read the tables again.';
    return new FieldError(
      new AppError('PERMISSION_DENIED', message, { details: { capability: 'admin' } }),
      path,
    );
  }
  await catalogs.introspect(principal.tenantid, schema);
  return 'true';
}

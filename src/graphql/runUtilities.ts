import type { ResponseReservation } from '../db/pool/responseBudget.js';
import type { Principal } from '../db/roles/principal.js';
import { AppError } from '../foundation/errors.js';
import type { FieldResult, UtilityResults } from './assemble.js';
import type { Engine } from './engine.js';
import { FieldError } from './response.js';
import type { Plan, UtilityField } from './plan/plan.js';
import { planOwnerOf } from './plan/planOwner.js';

/** Runs the requested fields of `Utility`. Throws pg's errors. */
export async function runUtilities(
  engine: Engine,
  principal: Principal,
  schema: string,
  plan: Plan,
  reservation: ResponseReservation,
): Promise<UtilityResults> {
  const results = new Map<UtilityField, FieldResult>();
  // Run once for all aliases of the field.
  let read: Promise<string | AppError> | undefined;
  for (const field of plan.fields) {
    if (field.kind !== 'object') continue;
    for (const inner of field.fields) {
      if (inner.kind !== 'utility') continue;
      read ??= reloadTables(engine, principal, schema);
      const json = await read;
      const error = json instanceof AppError ? json : reservation.reserve(json.length);
      results.set(inner, error ? new FieldError(error, [field.key, inner.key]) : (json as string));
    }
  }
  return results;
}

/** `{gql, json: {__schema}}`, as in the sign-in response. */
async function reloadTables(
  { catalogs, schemas, planning }: Engine,
  principal: Principal,
  schema: string,
): Promise<string | AppError> {
  if (!principal.isAdmin) {
    const message = 'Only root and roles with admin may read the tables again.';
    return new AppError('PERMISSION_DENIED', message, { details: { capability: 'admin' } });
  }
  const { describe } = schemas.of(await catalogs.introspect(principal.tenantid, schema));
  const { sdl, introspectionJson } = await planning.run(planOwnerOf(principal), describe());
  return `{"gql":${JSON.stringify(sdl)},"json":${introspectionJson}}`;
}

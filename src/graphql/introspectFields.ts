import type { ResponseReservation } from '../db/pool/responseBudget.js';
import type { FieldResult, IntrospectionResults } from './assemble.js';
import type { Engine } from './engine.js';
import { introspect } from './introspect.js';
import type { IntrospectionField } from './plan/plan.js';
import type { PlanOwner } from './plan/planOwner.js';
import type { PlannedRequest } from './plan/planRequest.js';
import { FieldError } from './response.js';
import type { Steps } from './steps.js';

/** Results of `__schema` and `__type`, which count as planning. Throws AppError, FieldError. */
export async function introspectFields(
  { planning, limits }: Pick<Engine, 'planning' | 'limits'>,
  owner: PlanOwner,
  planned: PlannedRequest,
  reservation: ResponseReservation,
): Promise<IntrospectionResults | undefined> {
  if (!planned.plan.fields.some(({ kind }) => kind === 'introspection')) return undefined;
  return planning.run(owner, introspectInSteps(planned, limits.responseBytes, reservation));
}

function* introspectInSteps(
  { plan, schema, ready: { fragments }, variables }: PlannedRequest,
  maxCharacters: number,
  reservation: ResponseReservation,
): Steps<IntrospectionResults> {
  const results = new Map<IntrospectionField, FieldResult>();
  for (const field of plan.fields) {
    if (field.kind !== 'introspection') continue;
    const json = yield* introspect({ schema, fragments, variables, maxCharacters }, field.nodes);
    const error = reservation.reserve(json.length);
    if (error) throw new FieldError(error, [field.key], field.nodes);
    results.set(field, json);
  }
  return results;
}

import { createHash } from 'node:crypto';
import type { ResponseReservation } from '../db/pool/responseBudget.js';
import { preparedText } from '../db/pool/preparedStatements.js';
import type { Transactions, TransactionStatement } from '../db/pool/transactions.js';
import type { Principal } from '../db/roles/principal.js';
import { AppError } from '../foundation/errors.js';
import { isJsonObject, writeJson } from '../foundation/json/losslessJson.js';
import { assemble } from './assemble.js';
import { ownOnly } from './document/variables.js';
import type { Plan } from './plan/plan.js';
import type { GraphqlRequest } from './plan/planRequest.js';
import { responseBody, type GraphqlResponse } from './response.js';
import type { TransactionBracket } from './runTransaction.js';

/** A client-chosen key that identifies one mutation, so that it takes effect once however often it is sent. */
export interface IdempotencyKey {
  readonly key: string;
  /** Of an anonymous client, who shares its role with all others, or of an API key, which may do less than its role; otherwise empty. */
  readonly client: string;
}

export interface Idempotency extends IdempotencyKey {
  /** SHA-256 of the request, in hexadecimal: the same in whatever order the members of its objects are. */
  readonly requestHash: string;
  /** Whether another request used this key: a mutation is refused. Queries may have any key. */
  readonly isReused?: boolean;
}

/**
 * Responds with the first response to the same request with its key, or else with what `serve` returns. Throws AppError
 * BAD_USER_INPUT if the variables are nested too deeply, whether the document declares them or not; IDEMPOTENCY_RESPONSE_NOT_KEPT,
 * and the transaction's error.
 */
export async function respondOnce(
  transactions: Transactions,
  principal: Principal,
  { query, operationName, variables }: GraphqlRequest,
  {
    key,
    reservation,
  }: { readonly key: IdempotencyKey | undefined; readonly reservation: ResponseReservation },
  serve: (idempotency?: Idempotency) => Promise<GraphqlResponse>,
): Promise<GraphqlResponse> {
  if (!key) return serve();
  const request = [query, operationName ?? null, ownOnly(variables ?? null)];
  const idempotency = { ...key, requestHash: hashOf(inOrder(request)) };
  let first = await findFirstResponse(transactions, principal, idempotency, reservation);
  if (first && first.body === undefined) {
    // Rowpost 0.1.0 hashed the members as they were sent.
    const asSent = { ...key, requestHash: hashOf(request) };
    first = (await findFirstResponse(transactions, principal, asSent, reservation)) ?? first;
  }
  if (first?.body !== undefined) return { status: 200, body: first.body };
  return serve({ ...idempotency, isReused: first !== undefined });
}

function hashOf(request: unknown): string {
  return createHash('sha256').update(writeJson(request)).digest('hex');
}

/** With the members of objects by name: many clients write those of a map in another order each time. */
function inOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOrder);
  if (!isJsonObject(value)) return value;
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return Object.fromEntries(members.map(([name, item]) => [name, inOrder(item)]));
}

/** The response for this key in the last 24 hours, with its body if the request was the same. */
async function findFirstResponse(
  transactions: Transactions,
  { tenantid, roleid }: Principal,
  { client, key, requestHash }: Idempotency,
  reservation: ResponseReservation,
): Promise<{ readonly body: string | undefined } | undefined> {
  const statements = [{ statement: FIRST_RESPONSE, values: [roleid, client, key, requestHash] }];
  const outcome = await transactions.run({ tenantid, mode: 'read', statements, reservation });
  if (outcome.kind === 'failed') throw outcome.error;
  const [row] = outcome.results[0] ?? [];
  if (!row) return undefined;
  const [isSame, body] = row;
  if (isSame !== 't') return { body: undefined };
  if (body == null) {
    throw new AppError(
      'IDEMPOTENCY_RESPONSE_NOT_KEPT',
      'The request with this Idempotency-Key was carried out, but its response was not kept.',
    );
  }
  return { body };
}

/** Throws AppError IDEMPOTENCY_KEY_REUSED. */
export function requireNewKey(idempotency: Idempotency | undefined): void {
  if (!idempotency?.isReused) return;
  throw new AppError('IDEMPOTENCY_KEY_REUSED', 'Another request was sent with this Idempotency-Key.');
}

/**
 * Makes a mutation take effect once: its transaction claims the key first, which fails if it is in use, and keeps the response
 * last.
 */
export function bracketOf(principal: Principal, plan: Plan, idempotency: Idempotency): TransactionBracket {
  return {
    before: claimKey(principal, idempotency),
    after: (results) => keepResponse(principal, idempotency, responseBody(assemble(plan, { results }))),
  };
}

function claimKey({ roleid }: Principal, { client, key, requestHash }: Idempotency): TransactionStatement {
  return { statement: CLAIM, values: [roleid, client, key, requestHash] };
}

/** Maximum size of a stored response: a small mutation may select all of a tenant's rows. */
const MAX_KEPT_BYTES = 1_048_576;

/** Stores the response, if there is room. Fails the transaction if it is too large. */
function keepResponse(
  { roleid }: Principal,
  { client, key }: Idempotency,
  body: string,
): TransactionStatement {
  if (Buffer.byteLength(body) > MAX_KEPT_BYTES) return { statement: REFUSE, values: [] };
  return { statement: KEEP, values: [roleid, client, key, body] };
}

const FIRST_RESPONSE = preparedText(
  "select is_same, response from rowpost_tenant.first_response($1, $2, $3, pg_catalog.decode($4, 'hex'))",
);
const CLAIM = preparedText("select rowpost_tenant.claim_request($1, $2, $3, pg_catalog.decode($4, 'hex'))");
const REFUSE = preparedText("select rowpost_tenant.refuse('responseNotKept')");
const KEEP = preparedText('select rowpost_tenant.keep_response($1, $2, $3, $4)');

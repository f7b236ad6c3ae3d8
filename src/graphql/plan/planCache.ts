import { bytesOfStatement } from '../../db/pool/compiledStatement.js';
import { cacheLookups } from '../../foundation/observability/metrics.js';
import { readDocument, type ReadyDocument } from '../document/document.js';
import type { DocumentLimits } from '../document/limits.js';
import { FairCache } from '../../foundation/limits/fairCache.js';
import type { TenantSchema } from '../schema/tenantSchema.js';
import type { Steps } from '../steps.js';
import type { Plan, PlannedField } from './plan.js';
import type { PlanOwner } from './planOwner.js';

/** Memory for parsed documents and for plans. */
const DOCUMENT_BYTES = 80_000_000;
const PLAN_BYTES = 120_000_000;
/** Of a key. */
const BYTES_OF_CHARACTER = 2;
const BYTES_OF_FIELD = 1_000;

export interface KnownDocument {
  readonly ready: ReadyDocument;
  readonly id: number;
}

/**
 * Documents by owner, version of its tables, operation and text; plans by document, rules in force and shape of the
 * variables. A hit parses, validates and builds nothing. A new version never finds old entries, which age out.
 */
export class PlanCache {
  readonly #documents = new FairCache<KnownDocument>(DOCUMENT_BYTES);
  readonly #plans = new FairCache<Plan>(PLAN_BYTES);
  #lastId = 0;

  /** @param limitsFor the limits of an owner's documents */
  constructor(
    private readonly limitsFor: (owner: PlanOwner) => DocumentLimits & { readonly introspection: boolean },
  ) {}

  /** Throws DocumentError. */
  *document(
    owner: PlanOwner,
    { catalog, schema }: TenantSchema,
    text: string,
    operationName: string | null,
  ): Steps<KnownDocument> {
    const key = `${owner.key} ${catalog.version} ${operationName ?? ''}\u0000${text}`;
    const known = this.#documents.get(key);
    cacheLookups.documents[known ? 'hit' : 'miss'] += 1;
    if (known) return known;
    yield;
    // A concurrent request may have added it.
    const readSince = this.#documents.get(key);
    if (readSince) return readSince;
    const ready = yield* readDocument(text, operationName, schema, this.limitsFor(owner));
    const entry = { ready, id: ++this.#lastId };
    this.#documents.set(key, entry, BYTES_OF_CHARACTER * key.length + ready.bytes, owner.key);
    return entry;
  }

  *plan(
    owner: PlanOwner,
    { id, ready }: KnownDocument,
    policy: string,
    shape: string,
    make: () => Steps<Plan>,
  ): Steps<Plan> {
    const key = `${id} ${policy} ${shape}`;
    const known = this.#plans.get(key);
    cacheLookups.plans[known ? 'hit' : 'miss'] += 1;
    if (known) return known;
    yield;
    const madeSince = this.#plans.get(key);
    if (madeSince) return madeSince;
    const plan = yield* make();
    // It holds the document, for the places of errors.
    const bytes = BYTES_OF_CHARACTER * key.length + ready.bytes + bytesOf(plan.fields);
    this.#plans.set(key, plan, bytes, owner.key);
    return plan;
  }
}

function bytesOf(fields: readonly PlannedField[]): number {
  let bytes = 0;
  for (const field of fields) {
    bytes += BYTES_OF_FIELD;
    if (field.kind === 'object') bytes += bytesOf(field.fields);
    if (field.kind !== 'statement') continue;
    for (const statement of field.statements) bytes += bytesOfStatement(statement);
  }
  return bytes;
}

import { cacheLookups } from '../../foundation/observability/metrics.js';
import { readDocument, type ReadyDocument } from '../document/document.js';
import type { DocumentLimits } from '../document/limits.js';
import { FairCache } from '../fairCache.js';
import type { TenantSchema } from '../schema/tenantSchema.js';
import type { Steps } from '../steps.js';
import type { Plan, PlannedField } from './plan.js';
import type { PlanOwner } from './planOwner.js';

/** Size of the caches of parsed documents and of plans' statements, in characters. */
const DOCUMENT_CHARACTERS = 4_000_000;
const PLAN_CHARACTERS = 20_000_000;
/** Overhead of a document or field besides its characters. */
const OVERHEAD_CHARACTERS = 500;
/** Maximum share of one owner: documents that never repeat must not evict those of others. */
const SHARE = 0.25;

export interface KnownDocument {
  readonly ready: ReadyDocument;
  readonly id: number;
}

/**
 * Documents by owner, version of its tables, operation and text; plans by document, rules in force and shape of the
 * variables. A hit parses, validates and builds nothing. A new version never finds old entries, which age out.
 */
export class PlanCache {
  readonly #documents = new FairCache<KnownDocument>(DOCUMENT_CHARACTERS, DOCUMENT_CHARACTERS * SHARE);
  readonly #plans = new FairCache<Plan>(PLAN_CHARACTERS, PLAN_CHARACTERS * SHARE);
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
    this.#documents.set(key, entry, text.length + OVERHEAD_CHARACTERS, owner.key);
    return entry;
  }

  *plan(
    owner: PlanOwner,
    documentId: number,
    policy: string,
    shape: string,
    make: () => Steps<Plan>,
  ): Steps<Plan> {
    const key = `${documentId} ${policy} ${shape}`;
    const known = this.#plans.get(key);
    cacheLookups.plans[known ? 'hit' : 'miss'] += 1;
    if (known) return known;
    yield;
    const madeSince = this.#plans.get(key);
    if (madeSince) return madeSince;
    const plan = yield* make();
    this.#plans.set(key, plan, key.length + charactersOf(plan.fields), owner.key);
    return plan;
  }
}

function charactersOf(fields: readonly PlannedField[]): number {
  let characters = 0;
  for (const field of fields) {
    characters += OVERHEAD_CHARACTERS;
    if (field.kind === 'object') characters += charactersOf(field.fields);
    if (field.kind !== 'statement') continue;
    for (const { statement } of field.statements) characters += statement.text.length;
  }
  return characters;
}

import { readDocument, type ReadyDocument } from '../document/document.js';
import type { DocumentLimits } from '../document/limits.js';
import { LruCache } from '../lruCache.js';
import type { TenantSchema } from '../schema/tenantSchema.js';
import type { Plan } from './plan.js';

/** Characters of documents kept parsed, and of keys of plans. */
const DOCUMENT_CHARACTERS = 4_000_000;
const PLANS = 5_000;

/**
 * Documents by tenant, version of its tables, operation and text; plans by document, rules in force and shape of the
 * variables. A hit parses, validates and builds nothing. Another version never finds the old entries, which age out.
 */
export class PlanCache {
  readonly #documents = new LruCache<{ readonly ready: ReadyDocument; readonly id: number }>(
    DOCUMENT_CHARACTERS,
  );
  readonly #plans = new LruCache<Plan>(PLANS);
  #lastId = 0;

  constructor(private readonly limits: DocumentLimits & { readonly introspection: boolean }) {}

  /** Throws DocumentError. */
  document(
    tenantid: number,
    { catalog, schema }: TenantSchema,
    text: string,
    operationName: string | null,
  ): { readonly ready: ReadyDocument; readonly id: number } {
    const key = `${tenantid} ${catalog.version} ${operationName ?? ''}\u0000${text}`;
    const known = this.#documents.get(key);
    if (known) return known;
    const entry = { ready: readDocument(text, operationName, schema, this.limits), id: ++this.#lastId };
    this.#documents.set(key, entry, text.length + 500);
    return entry;
  }

  plan(documentId: number, policy: string, shape: string, make: () => Plan): Plan {
    const key = `${documentId} ${policy} ${shape}`;
    const known = this.#plans.get(key);
    if (known) return known;
    const plan = make();
    this.#plans.set(key, plan);
    return plan;
  }
}

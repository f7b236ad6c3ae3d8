import type { GraphQLSchema } from 'graphql';
import { FairCache } from '../../foundation/limits/fairCache.js';
import type { GraphqlRequest } from '../../graphql/dataEngine.js';
import { readDocument, type ReadyDocument } from '../../graphql/document/document.js';
import { documentLimits } from '../../graphql/document/limits.js';
import type { PlanOwner } from '../../graphql/plan/planOwner.js';
import type { Steps } from '../../graphql/steps.js';

/** Memory for parsed and validated documents. */
const CACHED_BYTES = 20_000_000;

/** Parsed and validated documents by their text. */
export class Documents {
  readonly #known = new FairCache<ReadyDocument>(CACHED_BYTES);

  constructor(
    private readonly schema: GraphQLSchema,
    private readonly config: Parameters<typeof documentLimits>[0],
  ) {}

  /** Throws DocumentError. */
  *read(owner: PlanOwner, { query: text, operationName }: GraphqlRequest): Steps<ReadyDocument> {
    // Anonymous clients have limits of their own.
    const key = `${owner.isAnonymous ? 'Nobody' : ''}\n${operationName ?? ''}\n${text}`;
    const known = this.#known.get(key);
    if (known) return known;
    yield;
    const limits = documentLimits(this.config, owner);
    const ready = yield* readDocument(text, operationName ?? null, this.schema, limits);
    this.#known.set(key, ready, ready.bytes, owner.key);
    return ready;
  }
}

import { AppError } from '../errors.js';

export function answerTooLarge(): AppError {
  return new AppError('DOCUMENT_TOO_COMPLEX', 'The answer is larger than MAX_ANSWER_BYTES.');
}

export interface AnswerLimits {
  /** Maximum size of one request's response, all root fields together. */
  readonly requestBytes: number;
  /** Maximum size of all responses in the process. */
  readonly processBytes: number;
}

/** A request's share of the budget, from the arrival of its rows until its response has been sent. */
export interface AnswerShare {
  /**
   * Counts received bytes.
   * @returns the error that aborts the read if the response is too large for the request or for the remaining budget
   */
  readonly take: (bytes: number) => AppError | undefined;
  /** Releases all of it. Idempotent. */
  readonly release: () => void;
}

/**
 * Bounds the memory for responses, however many root fields, aliases or callers there are. A tenant's responses may hold
 * as many bytes as all tenants leave free: half of the budget for one tenant, a third each for two. So there is always
 * room for one more tenant.
 */
export class AnswerBudget {
  readonly #tenants = new Map<number, number>();
  #heldBytes = 0;

  constructor(private readonly limits: AnswerLimits) {}

  get heldBytes(): number {
    return this.#heldBytes;
  }

  open(tenantid: number): AnswerShare {
    let taken = 0;
    return {
      take: (bytes) => {
        taken += bytes;
        const heldByTenant = this.#add(tenantid, bytes);
        if (taken > this.limits.requestBytes) {
          return answerTooLarge();
        }
        const freeBytes = this.limits.processBytes - this.#heldBytes;
        const maxOfTenant = heldByTenant > taken ? freeBytes : Infinity;
        if (freeBytes < 0 || heldByTenant > maxOfTenant) {
          return new AppError('TOO_BUSY', 'Too many large answers are being sent at the moment.', {
            hint: 'Ask for less, read answers at once, or retry after the time given in Retry-After.',
          });
        }
        return undefined;
      },
      release: () => {
        this.#add(tenantid, -taken);
        taken = 0;
      },
    };
  }

  /** @returns the bytes that the tenant now holds */
  #add(tenantid: number, bytes: number): number {
    const held = (this.#tenants.get(tenantid) ?? 0) + bytes;
    if (held === 0) this.#tenants.delete(tenantid);
    else this.#tenants.set(tenantid, held);
    this.#heldBytes += bytes;
    return held;
  }
}

import { AppError } from '../errors.js';

export interface AnswerLimits {
  /** Most bytes of one request's answer, all of its root fields together. */
  readonly requestBytes: number;
  /** Most bytes of all answers that the process holds at one time. */
  readonly processBytes: number;
}

/** What a request holds of the budget, from the arrival of its rows until its answer has left. */
export interface AnswerShare {
  /** Counts bytes that arrived. @returns the error that ends a read: too large for one request, or for this moment. */
  readonly take: (bytes: number) => AppError | undefined;
  /** Gives all of it back; again is no error. */
  readonly release: () => void;
}

/**
 * Bytes of answers in memory: many roots, aliases or callers at once must not add up to more than the process has. The
 * answers of one tenant may take as much as they leave free: half of the whole, or a third each for two. So there is
 * room for one more tenant always.
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
          return new AppError('DOCUMENT_TOO_COMPLEX', 'The answer is larger than MAX_ANSWER_BYTES.');
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

  /** @returns what the tenant holds now */
  #add(tenantid: number, bytes: number): number {
    const held = (this.#tenants.get(tenantid) ?? 0) + bytes;
    if (held === 0) this.#tenants.delete(tenantid);
    else this.#tenants.set(tenantid, held);
    this.#heldBytes += bytes;
    return held;
  }
}

import { AppError } from '../../foundation/errors.js';
import { FairBytes } from '../../foundation/limits/fairBytes.js';

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

/** Bounds the memory for responses, however many root fields, aliases or callers there are, and divides it among tenants. */
export class AnswerBudget {
  readonly #bytes: FairBytes<number>;

  constructor(private readonly limits: AnswerLimits) {
    this.#bytes = new FairBytes(limits.processBytes);
  }

  get heldBytes(): number {
    return this.#bytes.held;
  }

  open(tenantid: number): AnswerShare {
    const { take, release } = this.#bytes.open(tenantid);
    let taken = 0;
    return {
      take: (bytes) => {
        taken += bytes;
        const fits = take(bytes);
        if (taken > this.limits.requestBytes) return answerTooLarge();
        if (fits) return undefined;
        return new AppError('TOO_BUSY', 'Too many large answers are being sent at the moment.', {
          hint: 'Request less, read responses promptly, or retry after the time given in Retry-After.',
        });
      },
      release: () => {
        release();
        taken = 0;
      },
    };
  }
}

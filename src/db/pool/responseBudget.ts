import { AppError } from '../../foundation/errors.js';
import { FairBytes } from '../../foundation/limits/fairBytes.js';

export function responseTooLarge(): AppError {
  return new AppError('DOCUMENT_TOO_COMPLEX', 'The response is larger than MAX_RESPONSE_BYTES.');
}

export interface ResponseLimits {
  /** Maximum size of one request's response, all root fields together. */
  readonly requestBytes: number;
  /** Maximum size of all responses in the process. */
  readonly processBytes: number;
}

/** A request's share of the budget, from the arrival of its rows until its response has been sent. */
export interface ResponseReservation {
  /**
   * Counts received bytes.
   * @returns the error that aborts the read if the response is too large for the request or for the remaining budget
   */
  readonly take: (bytes: number) => AppError | undefined;
  /** Releases all of it. Idempotent. */
  readonly release: () => void;
}

/** Bounds the memory for responses, however many root fields, aliases or callers there are, and divides it among tenants. */
export class ResponseBudget {
  readonly #bytes: FairBytes<number>;

  constructor(private readonly limits: ResponseLimits) {
    this.#bytes = new FairBytes(limits.processBytes);
  }

  get heldBytes(): number {
    return this.#bytes.held;
  }

  open(tenantid: number): ResponseReservation {
    const { take, release } = this.#bytes.open(tenantid);
    let taken = 0;
    return {
      take: (bytes) => {
        taken += bytes;
        const fits = take(bytes);
        if (taken > this.limits.requestBytes) return responseTooLarge();
        if (fits) return undefined;
        return new AppError('TOO_BUSY', 'Too many large responses are being sent at the moment.', {
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

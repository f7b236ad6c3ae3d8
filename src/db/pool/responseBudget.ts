import { AppError } from '../../foundation/errors.js';
import { TenantLimiter, type Reservation } from '../../foundation/limits/tenantLimiter.js';

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
export interface ResponseReservation extends Pick<Reservation, 'release'> {
  /**
   * Counts received bytes.
   * @returns the error that aborts the read if the response is too large for the request or for the remaining budget
   */
  readonly reserve: (bytes: number) => AppError | undefined;
}

/** Bounds the memory for responses, however many root fields, aliases or callers there are, and divides it among tenants. */
export class ResponseBudget {
  readonly #bytes: TenantLimiter;

  constructor(private readonly limits: ResponseLimits) {
    this.#bytes = new TenantLimiter({ max: limits.processBytes });
  }

  get heldBytes(): number {
    return this.#bytes.held;
  }

  open(tenantid: number): ResponseReservation {
    const { reserve, release } = this.#bytes.open(tenantid);
    let own = 0;
    return {
      reserve: (bytes) => {
        own += bytes;
        const fits = reserve(bytes);
        if (own > this.limits.requestBytes) return responseTooLarge();
        if (fits) return undefined;
        return new AppError('TOO_BUSY', 'Too many large responses are being sent at the moment.', {
          hint: 'Request less, read responses promptly, or retry after the time given in Retry-After.',
        });
      },
      release: () => {
        release();
        own = 0;
      },
    };
  }
}

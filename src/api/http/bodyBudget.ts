import type { ServerResponse } from 'node:http';
import { AppError } from '../../foundation/errors.js';
import { TenantLimiter, type Reservation } from '../../foundation/limits/tenantLimiter.js';

/** Bodies up to this size are not counted: their connection takes as much memory. */
export const FREE_BYTES = 16_384;
/** In the large bodies of all requests in flight. */
const MAX_TENANTS_BYTES = 64 * 1024 * 1024;
const MAX_ANONYMOUS_BYTES = 32 * 1024 * 1024;

/** Counts the bytes of a large body until its response is complete. Throws AppError TOO_BUSY. */
export type ReserveBytes = (bytes: number) => void;

/**
 * Bounds the memory for large bodies, which their senders may send as slowly as they like, and divides it among them.
 * Anonymous clients have as many addresses as they like, so what they hold is no tenant's.
 */
export class BodyBudget {
  readonly #tenants = new TenantLimiter({ max: MAX_TENANTS_BYTES });
  readonly #anonymous = new TenantLimiter<string>({ max: MAX_ANONYMOUS_BYTES });

  ofTenant(tenantid: number, res: ServerResponse): ReserveBytes {
    return untilClosed(this.#tenants.open(tenantid), res);
  }

  /** @param sender the client's address, or what they have in common */
  ofAnonymous(sender: string, res: ServerResponse): ReserveBytes {
    return untilClosed(this.#anonymous.open(sender), res);
  }
}

function untilClosed({ reserve, release }: Reservation, res: ServerResponse): ReserveBytes {
  res.once('close', release);
  return (bytes) => {
    if (!reserve(bytes))
      throw new AppError('TOO_BUSY', 'Too many large requests are being received at the moment.');
  };
}

import type { IncomingMessage, ServerResponse } from 'node:http';
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
  /** Of anonymous clients, the oldest first. */
  readonly #arriving = new Set<{ readonly req: IncomingMessage; readonly release: () => void }>();

  ofTenant(tenantid: number, res: ServerResponse): ReserveBytes {
    return untilClosed(this.#tenants.open(tenantid), res);
  }

  /**
   * If no memory is left, the connections of the oldest bodies that are still arriving are broken: those of carriers arrive within
   * moments, and whoever sends slowly from many addresses keeps nobody out.
   * @param sender the client's address, or what they have in common
   */
  ofAnonymous(sender: string, res: ServerResponse): ReserveBytes {
    const { reserve, release } = this.#anonymous.open(sender);
    const body = { req: res.req, release };
    this.#arriving.add(body);
    res.once('close', () => this.#arriving.delete(body));
    const reserveFirst = (bytes: number): boolean => {
      let fits = reserve(bytes);
      for (const other of this.#arriving) {
        if (fits || this.#anonymous.held <= MAX_ANONYMOUS_BYTES) break;
        if (other === body || other.req.complete) continue;
        this.#arriving.delete(other);
        other.release();
        other.req.destroy();
        fits = reserve(0);
      }
      return fits;
    };
    return untilClosed({ reserve: reserveFirst, release }, res);
  }
}

function untilClosed({ reserve, release }: Reservation, res: ServerResponse): ReserveBytes {
  res.once('close', release);
  return (bytes) => {
    if (!reserve(bytes))
      throw new AppError('TOO_BUSY', 'Too many large requests are being received at the moment.');
  };
}

import type { IncomingMessage } from 'node:http';
import type { Config } from '../../config/config.js';
import { TenantLimiter } from '../../foundation/limits/tenantLimiter.js';
import { clientAddress } from './clientAddress.js';

/** Statements of one address that may wait. Behind a proxy that TRUST_PROXY does not name, all clients are one. */
const MAX_WAITING = 1_000;

/**
 * Divides half of a pool's connections among clients of which nobody knows yet who they are, by address. The pool itself serves first
 * come, first served: whoever sends many requests at once would be ahead of all tenants.
 */
export class UnidentifiedTurns {
  readonly #limiter: TenantLimiter<string>;

  constructor(
    { options }: { readonly options: { readonly max: number } },
    private readonly config: Pick<Config, 'trustProxy' | 'poolTimeoutMs'>,
  ) {
    this.#limiter = new TenantLimiter({
      max: Math.ceil(options.max / 2),
      waiting: MAX_WAITING,
      waitMs: config.poolTimeoutMs,
    });
  }

  /** Runs what takes one connection at a time. Throws AppError TOO_BUSY. */
  run<T>(req: IncomingMessage, work: () => Promise<T>): Promise<T> {
    return this.ofAddress(clientAddress(req, this.config.trustProxy), work);
  }

  /** The same, of a client whose address is known. */
  ofAddress<T>(address: string, work: () => Promise<T>): Promise<T> {
    return this.#limiter.run(address, work);
  }
}

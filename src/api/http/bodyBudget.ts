import type { ServerResponse } from 'node:http';
import { AppError } from '../../errors.js';
import { FairBytes } from '../../fairBytes.js';

/** Bodies up to this size need no room: a connection takes more. */
export const SMALL_BODY_BYTES = 65_536;
/** In the large bodies of all requests in flight. */
const MAX_BYTES = 64 * 1024 * 1024;

/** Counts the bytes of a large body until its response is complete. Throws AppError TOO_BUSY. */
export type TakeRoom = (bytes: number) => void;

/** Bounds the memory for large bodies, which their senders may send as slowly as they like, and divides it among them. */
export class BodyBudget {
  readonly #bytes = new FairBytes<string>(MAX_BYTES);

  /** @param owner the tenant or, before it is known, the visitor's address */
  open(owner: string, res: ServerResponse): TakeRoom {
    const { take, release } = this.#bytes.open(owner);
    res.once('close', release);
    return (bytes) => {
      if (!take(bytes))
        throw new AppError('TOO_BUSY', 'Too many large requests are being received at the moment.');
    };
  }
}

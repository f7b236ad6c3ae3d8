import type { IncomingMessage, ServerResponse } from 'node:http';
import { FairBytes, type HeldBytes } from '../../foundation/limits/fairBytes.js';
import type { TrustedProxies } from '../../foundation/net/trustedProxies.js';
import { clientAddress } from './clientAddress.js';
import { recordOf } from './requestRecord.js';

/** The times are those of nginx (`lingering_time`, `lingering_timeout`). */
const LIMITS = {
  /** For one body. */
  drainMs: 30_000,
  /** Without a byte of it. */
  silenceMs: 5_000,
  /** Of all bodies at a time, of tenants and of anonymous clients each. To read as many takes some 50 ms. */
  bytes: 128 * 1024 * 1024,
};

/**
 * Drains bodies whose response was sent before they were read. A connection that is closed with unread bytes is reset, and the
 * client, which may still be sending, would lose the response (RFC 9112, 9.6).
 */
export class UnreadBodies {
  readonly #tenants: FairBytes<number>;
  readonly #anonymous: FairBytes<string>;

  constructor(
    private readonly proxies: TrustedProxies,
    private readonly limits = LIMITS,
  ) {
    this.#tenants = new FairBytes(limits.bytes);
    this.#anonymous = new FairBytes(limits.bytes);
  }

  /** Drains what is left of a request's body when its response ends; beyond the limits, the connection is broken. */
  drainAfterResponse(req: IncomingMessage, res: ServerResponse): void {
    res.once('prefinish', () => {
      if (!req.complete) this.#drain(req, res, this.#budgetOf(req, res));
    });
  }

  #budgetOf(req: IncomingMessage, res: ServerResponse): HeldBytes {
    const tenantid = recordOf(res)?.tenantid;
    return tenantid === undefined
      ? this.#anonymous.open(clientAddress(req, this.proxies))
      : this.#tenants.open(tenantid);
  }

  #drain(req: IncomingMessage, res: ServerResponse, { take, release }: HeldBytes): void {
    const { socket } = req;
    const { drainMs, silenceMs } = this.limits;
    const giveUp = (): void => void socket.destroy();
    let whole: NodeJS.Timeout | undefined;
    let silence: NodeJS.Timeout | undefined;
    const end = (): void => {
      clearTimeout(whole);
      clearTimeout(silence);
      release();
      socket.off('close', end);
      Reflect.deleteProperty(socket, 'destroySoon');
      if (socket.writableEnded) socket.destroySoon();
    };
    // Node.js calls it after the last response of a connection. Until the body has ended, only our side does.
    socket.destroySoon = () => void socket.end();
    socket.once('close', end);
    req.once('end', end);
    // Not before: the client may take long to read the response, which has limits of its own.
    res.once('finish', () => {
      if (req.complete) return;
      whole = setTimeout(giveUp, drainMs);
      silence = setTimeout(giveUp, silenceMs);
    });
    req.on('data', (chunk: Buffer) => {
      silence?.refresh();
      // The client has its response, and now sends in vain.
      if (!take(chunk.length)) req.pause();
    });
    req.resume();
  }
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { TenantLimiter, type Reservation } from '../../foundation/limits/tenantLimiter.js';
import type { TrustedProxies } from '../../foundation/net/trustedProxies.js';
import { clientAddress } from './clientAddress.js';
import { recordOf } from './requestRecord.js';

/** Of all bodies that are being drained, for tenants and for anonymous clients each. To read as many takes some 50 ms. */
const MAX_BYTES = 64 * 1024 * 1024;
/** Those of nginx: for one body (`lingering_time`), and without a byte of it (`lingering_timeout`). */
const TIMES = { drainMs: 30_000, silenceMs: 5_000 };

/**
 * Drains bodies whose response was sent before they were read. A connection that is closed with unread bytes is reset, and the
 * client, which may still be sending, would lose the response (RFC 9112, 9.6).
 */
export class UnreadBodies {
  readonly #tenants = new TenantLimiter({ max: MAX_BYTES });
  readonly #anonymous = new TenantLimiter<string>({ max: MAX_BYTES });

  constructor(
    private readonly proxies: TrustedProxies,
    private readonly times = TIMES,
  ) {}

  /** Drains what is left of a request's body when its response ends; beyond the limits, the connection is broken. */
  drainAfterResponse(req: IncomingMessage, res: ServerResponse): void {
    res.once('prefinish', () => {
      if (!req.complete) this.#drain(req, res, this.#reservationOf(req, res));
    });
  }

  #reservationOf(req: IncomingMessage, res: ServerResponse): Reservation {
    const tenantid = recordOf(res)?.tenantid;
    return tenantid === undefined
      ? this.#anonymous.open(clientAddress(req, this.proxies))
      : this.#tenants.open(tenantid);
  }

  #drain(req: IncomingMessage, res: ServerResponse, { reserve, release }: Reservation): void {
    const { socket } = req;
    const { drainMs, silenceMs } = this.times;
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
      if (!reserve(chunk.length)) req.pause();
    });
    req.resume();
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { startChildServer } from '../support/childServer.js';

/** What the carrier has taken since it was last reset. */
export interface CarrierCounts {
  accepted: number;
  /** When the first and the last email came. */
  firstMs: number | null;
  lastMs: number | null;
  /** Emails of each second since the first. */
  perSecond: number[];
  /** Emails whose subject begins with TIMED. */
  receipts: { subject: string; atMs: number }[];
}

/** The fake carrier, in a process of its own. */
export interface Carrier {
  /** For SENDGRID_BASE_URL. */
  readonly url: string;
  readonly pid: number;
  /** Without the receipts, which are many. */
  counts(): Promise<CarrierCounts>;
  /** Forgets what it counted. @returns what that was, with the receipts */
  reset(): Promise<CarrierCounts>;
  /** Waits until so many emails have come. Throws when none comes for a minute. */
  untilAccepted(emails: number): Promise<void>;
  stop(): Promise<void>;
}

const POLL_MS = 100;
const PATIENCE_MS = 60_000;

export async function startCarrier(): Promise<Carrier> {
  const server = await startChildServer(new URL('carrierServer.ts', import.meta.url), []);
  const request = async (path: string): Promise<CarrierCounts> =>
    (await (await fetch(`${server.url}${path}`)).json()) as CarrierCounts;
  return {
    url: server.url,
    pid: server.pid,
    counts: () => request('counts'),
    reset: () => request('reset'),
    async untilAccepted(emails) {
      let accepted = 0;
      for (let idleSince = Date.now(); Date.now() - idleSince < PATIENCE_MS;) {
        const now = (await request('counts')).accepted;
        if (now >= emails) return;
        if (now > accepted) idleSince = Date.now();
        accepted = now;
        await delay(POLL_MS);
      }
      throw new Error(`no email for ${PATIENCE_MS / 1000} s, after ${accepted} of ${emails}`);
    },
    stop: () => server.stop(),
  };
}

import { startChildServer } from '../../bench/support/childServer.js';
import type { Canary } from '../rig/canaries.js';
import type { Behavior, ProviderEntry } from './ledger.js';

/** The harness's client for the fake carrier. */
export interface Carrier {
  readonly url: string;
  readonly smtpPort: number;
  /** All calls so far, in order. */
  readonly entries: readonly ProviderEntry[];
  /** Fetches what is new. */
  refresh(): Promise<void>;
  behave(behaviors: Readonly<Record<string, Behavior>>): Promise<void>;
  lookFor(canaries: readonly Canary[]): Promise<void>;
  stop(): Promise<void>;
}

/** Entries whose response is pending are read again. */
const UNSETTLED_MS = 30_000;

export async function startProvider(): Promise<Carrier> {
  const server = await startChildServer(new URL('server.ts', import.meta.url), []);
  const entries: ProviderEntry[] = [];
  /** Entries before this one will not change. */
  let settled = 0;
  const put = async (path: string, body: unknown): Promise<void> => {
    await fetch(`${server.url}${path}`, { method: 'PUT', body: JSON.stringify(body) });
  };
  return {
    url: server.url,
    smtpPort: Number(await (await fetch(`${server.url}smtp`)).text()),
    entries,
    async refresh() {
      const response = await fetch(`${server.url}ledger?from=${settled}`);
      entries.splice(settled, Infinity, ...((await response.json()) as ProviderEntry[]));
      const open = entries.findIndex(
        (entry, index) =>
          index >= settled && entry.answeredAtMs === null && entry.receivedAtMs > Date.now() - UNSETTLED_MS,
      );
      settled = open < 0 ? entries.length : open;
    },
    behave: (behaviors) => put('behaviors', behaviors),
    lookFor: (canaries) => put('secrets', canaries),
    stop: () => server.stop(),
  };
}

import { mail } from '../markers.js';
import type { Link } from '../wire/link.js';

/** An answer that came so lately may not be in the ledger yet. */
const SETTLING_MS = 10_000;
const MOST_CALLS = 1_000;

/** Watches a process's calls of the provider. @returns which deliveries it has in hand at the moment of asking */
export function watchInHand(provider: Link): () => readonly string[] {
  /** Of each delivery: when its answer came back; undefined while there is none. */
  const calls = new Map<string, number | undefined>();
  const note = (request: Buffer, answeredAt: number | undefined): void => {
    for (const id of mail.concerns(request.toString('latin1')).deliveryids ?? []) {
      calls.delete(id);
      calls.set(id, answeredAt);
    }
    if (calls.size > MOST_CALLS) prune();
  };
  const prune = (): void => {
    const settled = Date.now() - SETTLING_MS;
    for (const [id, answeredAt] of calls) {
      if (answeredAt !== undefined && answeredAt < settled) calls.delete(id);
    }
  };
  provider.onRequest = (request) => note(request, undefined);
  provider.onAnswer = (request) => note(request, Date.now());
  return () => {
    prune();
    return [...calls.keys()];
  };
}

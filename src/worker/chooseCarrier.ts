import type { PastAttempt } from '../db/ledger/attemptHistory.js';

/** The carrier of an attempt, and the one to fall back to at once if the first certainly sent nothing. */
export interface Choice {
  /** Undefined if there is none. */
  readonly carrier: string | undefined;
  readonly next: string | undefined;
}

/**
 * The first carrier, or the next one in order if those before it certainly sent nothing. After an ambiguous outcome the
 * delivery stays with that carrier: another one would send what the first may have sent already.
 * @param carriers in order of preference, without duplicates
 * @param history newest first
 */
export function chooseCarrier(
  carriers: readonly string[],
  history: readonly PastAttempt[],
  isHeld: (carrier: string) => boolean,
): Choice {
  const attempts = attemptsSinceRedrive(history).filter(({ carrier }) => carrier !== null);
  const ambiguous = attempts.find(({ outcome }) => outcome === 'ambiguous')?.carrier ?? '';
  if (carriers.includes(ambiguous)) return { carrier: ambiguous, next: undefined };

  const freeAfter = (carrier = ''): string | undefined =>
    carriers.slice(carriers.indexOf(carrier) + 1).find((each) => !isHeld(each));
  const carrier = freeAfter(attempts[0]?.carrier ?? '') ?? freeAfter() ?? carriers[0];
  return { carrier, next: freeAfter(carrier) };
}

function attemptsSinceRedrive(history: readonly PastAttempt[]): readonly PastAttempt[] {
  const redriven = history.findIndex(({ outcome }) => outcome === 'redriven');
  return redriven < 0 ? history : history.slice(0, redriven);
}

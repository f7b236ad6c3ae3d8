import type { PastAttempt } from '../db/delivery/attemptHistory.js';

/** The carrier of an attempt, and the one to fall back to at once if the first certainly sent nothing. */
export interface Choice {
  readonly index: number;
  readonly next: number | undefined;
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
  const sinceRedrive = untilRedrive(history).filter(({ carrier }) => carrier !== null);
  const unknown = sinceRedrive.find(({ outcome }) => outcome === 'ambiguous');
  const pinned = unknown ? carriers.indexOf(unknown.carrier ?? '') : -1;
  if (pinned >= 0) return { index: pinned, next: undefined };

  const [last] = sinceRedrive;
  const failed = last ? carriers.indexOf(last.carrier ?? '') : -1;
  const free = (from: number): number =>
    carriers.findIndex((carrier, index) => index >= from && !isHeld(carrier));
  const ahead = free(failed + 1);
  const index = ahead >= 0 ? ahead : Math.max(0, free(0));
  const next = free(index + 1);
  return { index, next: next >= 0 ? next : undefined };
}

/** Attempts since the delivery was last redriven. */
function untilRedrive(history: readonly PastAttempt[]): readonly PastAttempt[] {
  const redriven = history.findIndex(({ outcome }) => outcome === 'redriven');
  return redriven < 0 ? history : history.slice(0, redriven);
}

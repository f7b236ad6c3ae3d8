import { durationText } from '../../db/ledger/backlogAlarm.js';

/** `Utility.backlog`. */
export interface Backlog {
  readonly oldest_seconds: number | null;
}

export function oldestText(seconds: number | null): string | undefined {
  return seconds === null ? undefined : durationText(seconds);
}

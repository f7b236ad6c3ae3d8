import type { Backlog } from '../outbox/backlog.js';

/** What waits, and where, which tells what process to look at. */
export interface Overdue {
  readonly place: 'events' | 'batches' | 'deliveries' | 'retries';
  readonly count: number;
  readonly oldestSeconds: number;
}

/** @param alarmSeconds `BACKLOG_ALARM_SECONDS`; 0 for no alarm @returns what has waited too long, in the order of the pipeline */
export function overdueIn(backlog: Backlog, alarmSeconds: number): readonly Overdue[] {
  return alarmSeconds === 0 ? [] : moving(backlog).filter((each) => each.oldestSeconds > alarmSeconds);
}

/** How long the oldest has waited of what should be moving. Null if nothing is. */
export function oldestSeconds(backlog: Backlog): number | null {
  const ages = moving(backlog).map((each) => each.oldestSeconds);
  return ages.length === 0 ? null : Math.max(...ages);
}

/** What is neither scheduled for later nor paused. */
function moving(backlog: Backlog): readonly Overdue[] {
  const places = [
    { place: 'events', count: backlog.unreadEvents, oldestSeconds: backlog.unreadSeconds },
    { place: 'batches', count: backlog.openBatches, oldestSeconds: backlog.openBatchSeconds },
    { place: 'deliveries', count: backlog.waiting, oldestSeconds: backlog.waitingSeconds },
    { place: 'retries', count: backlog.retries, oldestSeconds: backlog.retrySeconds },
  ] as const;
  return places.flatMap(({ oldestSeconds, ...rest }) =>
    oldestSeconds === null ? [] : [{ ...rest, oldestSeconds }],
  );
}

/** `90 s`, `5 min` or `3 h`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 120) return `${whole} s`;
  return whole < 7_200 ? `${Math.round(whole / 60)} min` : `${Math.round(whole / 3_600)} h`;
}

import type { Backlog } from './backlog.js';

/** What has waited too long, and where, which tells what process to look at. */
export interface Overdue {
  readonly place: 'events' | 'batches' | 'deliveries' | 'retries';
  readonly count: number;
  readonly oldestSeconds: number;
}

/** @param alarmSeconds `BACKLOG_ALARM_SECONDS`; 0 for no alarm @returns in the order of the pipeline */
export function overdueIn(backlog: Backlog, alarmSeconds: number): readonly Overdue[] {
  const places = [
    { place: 'events', count: backlog.unreadEvents, oldestSeconds: backlog.unreadSeconds },
    { place: 'batches', count: backlog.openBatches, oldestSeconds: backlog.openBatchSeconds },
    { place: 'deliveries', count: backlog.waiting, oldestSeconds: backlog.waitingSeconds },
    { place: 'retries', count: backlog.retries, oldestSeconds: backlog.retrySeconds },
  ] as const;
  if (alarmSeconds === 0) return [];
  return places.flatMap(({ place, count, oldestSeconds }) =>
    oldestSeconds !== null && oldestSeconds > alarmSeconds ? [{ place, count, oldestSeconds }] : [],
  );
}

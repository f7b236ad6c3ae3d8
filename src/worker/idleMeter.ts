import { performance } from 'node:perf_hooks';

/** Shorter than a person notices, longer than a turn of a busy event loop. */
const WINDOW_MS = 100;

/** @returns what of its time this process had nothing to do since it was asked before: 1 is all of it. Cheap to ask. */
export function createIdleMeter(): () => number {
  let begun = performance.eventLoopUtilization();
  let begunMs = performance.now();
  let idle = 1;
  return () => {
    const nowMs = performance.now();
    if (nowMs - begunMs < WINDOW_MS) return idle;
    const now = performance.eventLoopUtilization();
    idle = 1 - performance.eventLoopUtilization(now, begun).utilization;
    begun = now;
    begunMs = nowMs;
    return idle;
  };
}

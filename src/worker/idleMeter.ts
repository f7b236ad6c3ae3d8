import { performance } from 'node:perf_hooks';

/** Sampling window: shorter than a person notices, longer than an iteration of a busy event loop. */
const WINDOW_MS = 100;

/** @returns a function that tells the event loop's idle ratio, from 0 to 1, over the last window; cheap to call. */
export function createIdleMeter(): () => number {
  let start = performance.eventLoopUtilization();
  let startedAtMs = performance.now();
  let idle = 1;
  return () => {
    const nowMs = performance.now();
    if (nowMs - startedAtMs < WINDOW_MS) return idle;
    const now = performance.eventLoopUtilization();
    idle = 1 - performance.eventLoopUtilization(now, start).utilization;
    start = now;
    startedAtMs = nowMs;
    return idle;
  };
}

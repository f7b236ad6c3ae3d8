import { cpuTimer } from './cpuTime.js';

/** How long a turn of the event loop may be without being noticed. */
const INTERVAL_MS = 5;

/**
 * Watches how long this process keeps its event loop from others. A turn counts with the CPU time that the process used in it,
 * so that turns during which a busy machine ran something else are not longer.
 * @returns the longest turn since the call, in milliseconds
 */
export function watchEventLoop(): () => number {
  let longestMs = 0;
  let startedAtMs = performance.now();
  let cpuMs = cpuTimer();
  const look = (): void => {
    const now = performance.now();
    longestMs = Math.max(longestMs, Math.min(now - startedAtMs, cpuMs()));
    startedAtMs = now;
    cpuMs = cpuTimer();
  };
  const timer = setInterval(look, INTERVAL_MS);
  return () => {
    clearInterval(timer);
    look();
    return longestMs;
  };
}

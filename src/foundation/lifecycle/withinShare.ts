/**
 * The step, left out as often as needed for it to take at most this share of the time.
 * @param maxPauseMs however long it took
 */
export function withinShare(
  share: number,
  step: () => Promise<void>,
  { maxPauseMs = 10 * 60_000, nowMs = () => performance.now() } = {},
): () => Promise<void> {
  let pausedUntilMs = -Infinity;
  return async () => {
    const startedMs = nowMs();
    if (startedMs < pausedUntilMs) return;
    try {
      await step();
    } finally {
      const endedMs = nowMs();
      pausedUntilMs = endedMs + Math.min(maxPauseMs, (endedMs - startedMs) * (1 / share - 1));
    }
  };
}

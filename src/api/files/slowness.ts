import type { ServerResponse } from 'node:http';

/** What an upload or a download must move in the time of `FILE_STALL_MS`. */
export const MIN_BYTES = 65_536;

/** Ends an answer whose bytes leave too slowly: it holds a file and a socket for next to no use. */
export function endWhenSlow(res: ServerResponse, stallMs: number): { stop(): void } {
  const { socket } = res;
  let before = socket?.bytesWritten ?? 0;
  const timer = setInterval(() => {
    const written = socket?.bytesWritten ?? 0;
    if (written - before < MIN_BYTES) res.destroy();
    before = written;
  }, stallMs);
  return { stop: () => clearInterval(timer) };
}

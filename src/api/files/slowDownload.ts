import type { ServerResponse } from 'node:http';

/** Minimum progress of an upload or download per `fileStallMs`. */
export const MIN_BYTES_PER_INTERVAL = 65_536;

/** Aborts a download that is too slow: it ties up a file and a socket. */
export function endSlowDownload(res: ServerResponse, stallMs: number): { stop(): void } {
  const { socket } = res;
  let before = socket?.bytesWritten ?? 0;
  const timer = setInterval(() => {
    const written = socket?.bytesWritten ?? 0;
    if (written - before < MIN_BYTES_PER_INTERVAL) res.destroy();
    before = written;
  }, stallMs);
  return { stop: () => clearInterval(timer) };
}

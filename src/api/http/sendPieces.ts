import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.js';
import type { SlownessLimits } from './sendResponse.js';

/** Bytes that are written at a time: the client's progress is measured by them. */
const CHUNK_BYTES = 65_536;

/** As for responses of known length: `responseTimeoutMs` for each `maxResponseBytes`. */
type Pace = SlownessLimits & Pick<Config, 'maxResponseBytes'>;

/**
 * Sends a response of unknown length while it is made, a piece at a time: the next is not made before the client has taken the
 * last. A client that takes too long for a piece, or for all of them, is disconnected. Throws what making the first piece throws
 * before anything is sent. What fails later breaks the connection, so that no client takes a part for the whole.
 */
export async function sendPieces(
  res: ServerResponse,
  headers: OutgoingHttpHeaders,
  pieces: AsyncGenerator<string, void>,
  { responseStallMs, responseTimeoutMs, maxResponseBytes }: Pace,
): Promise<void> {
  let next = await pieces.next();
  res.writeHead(200, headers);
  let sentBytes = 0;
  let waitedMs = 0;
  try {
    for (; next.done !== true; next = await pieces.next()) {
      const bytes = Buffer.from(next.value);
      for (let start = 0; start < bytes.length; start += CHUNK_BYTES) {
        const mayTakeMs = responseTimeoutMs * Math.max(1, sentBytes / maxResponseBytes) - waitedMs;
        const chunk = bytes.subarray(start, start + CHUNK_BYTES);
        const startedAtMs = performance.now();
        await write(res, chunk, Math.min(responseStallMs, mayTakeMs));
        waitedMs += performance.now() - startedAtMs;
        sentBytes += chunk.length;
      }
    }
    res.end();
  } catch (error) {
    res.destroy();
    // A client that is gone has no other.
    if (!(error instanceof ClientGoneError)) throw error;
  } finally {
    await pieces.return();
  }
}

class ClientGoneError extends Error {}

function write(res: ServerResponse, chunk: Buffer, stallMs: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const done = (error?: Error | null): void => {
      clearTimeout(stall);
      res.off('close', gone);
      if (error) reject(error);
      else resolve();
    };
    const gone = (): void => done(new ClientGoneError());
    const stall = setTimeout(gone, stallMs);
    res.once('close', gone);
    if (res.destroyed) gone();
    else res.write(chunk, (error) => done(error && new ClientGoneError()));
  });
}

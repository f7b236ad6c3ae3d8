import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

export interface SlownessLimits {
  /** A client that reads less than 64 KiB in this time is cut off. */
  readonly stallMs: number;
  /** Longest time for all of an answer. */
  readonly timeoutMs: number;
}

/** What goes to the socket at one time: how far a client has read is known piece by piece. */
const PIECE_BYTES = 65_536;

/** Sends an answer as a whole. One that the client doesn't read is held for as long as the limits say, and no longer. */
export function sendAnswer(
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string,
  limits: SlownessLimits,
): void {
  const length = Buffer.byteLength(body);
  res.writeHead(status, { ...headers, 'content-length': length });
  if (length <= PIECE_BYTES) res.end(body);
  else sendPieces(res, Buffer.from(body), limits);
}

function sendPieces(res: ServerResponse, bytes: Buffer, { stallMs, timeoutMs }: SlownessLimits): void {
  const stall = setTimeout(() => res.destroy(), stallMs);
  const timeout = setTimeout(() => res.destroy(), timeoutMs);
  res.once('close', () => {
    clearTimeout(stall);
    clearTimeout(timeout);
  });
  const sendFrom = (start: number): void => {
    const end = start + PIECE_BYTES;
    const piece = bytes.subarray(start, end);
    if (end >= bytes.length) {
      res.end(piece);
      return;
    }
    res.write(piece, (error) => {
      if (error) return;
      stall.refresh();
      sendFrom(end);
    });
  };
  sendFrom(0);
}

/** When the answer has left, or its caller has. */
export function whenGone(res: ServerResponse, release: () => void): void {
  if (res.closed || res.destroyed) release();
  else res.once('close', release);
}

/** Cuts off a client that doesn't read an answer in time, whatever sends it. */
export function endSlowAnswer(res: ServerResponse, timeoutMs: number): void {
  res.once('prefinish', () => {
    // Most answers are in the system's hands at once.
    if (!res.socket || res.socket.writableLength === 0) return;
    const timer = setTimeout(() => res.destroy(), timeoutMs);
    res.once('close', () => clearTimeout(timer));
  });
}

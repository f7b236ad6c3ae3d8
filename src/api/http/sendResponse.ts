import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { Config } from '../../config/config.js';

/**
 * A client that reads less than 64 KiB within `responseStallMs` is disconnected, and one that has not read a whole response
 * after `responseTimeoutMs`.
 */
export type SlownessLimits = Pick<Config, 'responseStallMs' | 'responseTimeoutMs'>;

/** Bytes written to the socket at a time: the client's progress is measured per chunk. */
const CHUNK_BYTES = 65_536;

/**
 * Sends a complete response. If the client doesn't read it, it is only held within the limits.
 * @param release called once the response was sent or the client is gone
 */
export function sendResponse(
  res: ServerResponse,
  status: number,
  headers: OutgoingHttpHeaders,
  body: string,
  limits: SlownessLimits,
  release?: () => void,
): void {
  const length = Buffer.byteLength(body);
  res.writeHead(status, { ...headers, 'content-length': length });
  if (length > CHUNK_BYTES) {
    if (release) onResponseClosed(res, release);
    sendPieces(res, Buffer.from(body), limits);
    return;
  }
  res.end(body);
  // Most small responses fit into the socket buffer and need neither a listener nor a timer.
  if (res.socket?.writableLength === 0) {
    release?.();
    return;
  }
  if (release) onResponseClosed(res, release);
  limitSending(res, limits.responseTimeoutMs);
}

function sendPieces(
  res: ServerResponse,
  bytes: Buffer,
  { responseStallMs, responseTimeoutMs }: SlownessLimits,
): void {
  const stall = setTimeout(() => res.destroy(), responseStallMs);
  const timeout = setTimeout(() => res.destroy(), responseTimeoutMs);
  res.once('close', () => {
    clearTimeout(stall);
    clearTimeout(timeout);
  });
  const sendFrom = (start: number): void => {
    const end = start + CHUNK_BYTES;
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

/** Calls `release` once the response has been sent or the client has disconnected. */
export function onResponseClosed(res: ServerResponse, release: () => void): void {
  if (res.closed || res.destroyed) release();
  else res.once('close', release);
}

/** Disconnects a client that doesn't read a response in time, whoever sends the response. */
export function endSlowResponse(res: ServerResponse, timeoutMs: number): void {
  res.once('prefinish', () => {
    if (res.socket && res.socket.writableLength > 0) limitSending(res, timeoutMs);
  });
}

function limitSending(res: ServerResponse, timeoutMs: number): void {
  if (res.closed || res.destroyed) return;
  const timer = setTimeout(() => res.destroy(), timeoutMs);
  res.once('close', () => clearTimeout(timer));
}

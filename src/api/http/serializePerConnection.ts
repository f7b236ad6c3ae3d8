import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Handler = (req: IncomingMessage, res: ServerResponse) => void;

/** Requests that a connection may send ahead of the response to an earlier one; each takes some kilobytes. */
const MAX_WAITING = 100;

/**
 * Begins a request once the earlier ones of its connection have their responses. Node.js would begin them all at once, but
 * if the connection closes, it emits `close` only for the response whose turn it is: what the others hold would never be
 * released.
 */
export function serializePerConnection(handle: Handler): Handler {
  const waiting = new WeakMap<Socket, number>();
  const count = (socket: Socket, change: 1 | -1): number => {
    const changed = (waiting.get(socket) ?? 0) + change;
    waiting.set(socket, changed);
    return changed;
  };
  return (req, res) => {
    const { socket } = req;
    // A response has a socket from its turn on.
    if (res.socket) {
      handle(req, res);
      return;
    }
    if (count(socket, 1) > MAX_WAITING) socket.destroy();
    res.once('socket', () => {
      count(socket, -1);
      if (!socket.destroyed) handle(req, res);
    });
  };
}

import type pg from 'pg';
import { internalsOf } from './pgClient.js';

/** Maximum size of a message other than a row: errors and notices contain text from tenants' code. */
const MAX_MESSAGE_BYTES = 1_048_576;
/** Maximum size of a row: more than MAX_RESPONSE_BYTES can be set to. */
const MAX_ROW_BYTES = 142_606_336;
/** Maximum total size of notices, notifications and parameter changes in one transaction. */
const MAX_UNREQUESTED_BYTES = 1_048_576;

const HEADER_BYTES = 5;
const DATA_ROW = 'D'.charCodeAt(0);
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
const UNREQUESTED: ReadonlySet<number> = new Set(['N', 'A', 'S'].map((type) => type.charCodeAt(0)));

/**
 * Breaks a connection on which PostgreSQL sends more than a process should read. A tenant's code may raise an error of
 * 300 MB, which is held in memory several times and blocks the event loop for seconds, or endless notices. A row of more
 * than 512 MB would crash the process, because it exceeds the maximum length of a string.
 */
export function limitMessages(client: pg.ClientBase): void {
  const { stream } = internalsOf(client).connection;
  const header = Buffer.alloc(HEADER_BYTES);
  let headerLength = 0;
  let bodyLeft = 0;
  let unrequested = 0;
  // Runs before pg, which buffers a message until it is complete.
  stream.prependListener('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length;) {
      if (bodyLeft > 0) {
        const passed = Math.min(bodyLeft, chunk.length - at);
        bodyLeft -= passed;
        at += passed;
        continue;
      }
      header[headerLength++] = chunk[at++] ?? 0;
      if (headerLength < HEADER_BYTES) continue;
      headerLength = 0;
      const type = header[0] ?? 0;
      const length = header.readUInt32BE(1);
      bodyLeft = length - 4;
      if (type === READY_FOR_QUERY) unrequested = 0;
      if (UNREQUESTED.has(type)) unrequested += HEADER_BYTES + bodyLeft;
      const isTooLong = length > (type === DATA_ROW ? MAX_ROW_BYTES : MAX_MESSAGE_BYTES);
      if (!isTooLong && unrequested <= MAX_UNREQUESTED_BYTES) continue;
      stream.destroy(new Error('PostgreSQL sent a message that is too long'));
      return;
    }
  });
}

import type { Protocol } from './protocol.js';
import type { Measure } from './splitter.js';

const TYPE_BYTES = 1;
const READY_FOR_QUERY = 'Z'.charCodeAt(0);
/** Parse, Bind, Describe, Execute and Close have no visible effect until another message arrives. */
const PARTS_OF_A_REQUEST = new Set(Buffer.from('PBDEC'));
const ANSWERED = new Set(Buffer.from('SQ'));

/** Bytes of the message that ends a request of the extended protocol, and with it commits: Sync. */
export const SYNC_BYTES = 5;

/** PostgreSQL: a request is everything up to its Sync, or one simple query. */
export const postgresProtocol: Protocol = {
  requests: measureRequests,
  replies: () => measureMessage,
  isAnswered: (request) => ANSWERED.has(lastMessageType(request)),
  endsResponse: (reply) => reply[0] === READY_FOR_QUERY,
  // The end of authentication.
  greetings: 1,
};

function measureRequests(): Measure {
  let signedIn = false;
  return (bytes, start) => {
    if (!signedIn) {
      // The first message has no type.
      const end = measureLength(bytes, start);
      if (end !== undefined) signedIn = true;
      return end;
    }
    let position = start;
    for (;;) {
      const end = measureMessage(bytes, position);
      if (end === undefined || !PARTS_OF_A_REQUEST.has(bytes[position] ?? 0)) return end;
      position = end;
    }
  };
}

const measureMessage: Measure = (bytes, start) => measureLength(bytes, start + TYPE_BYTES);

/** A length counts its own four bytes. */
function measureLength(bytes: Buffer, at: number): number | undefined {
  if (bytes.length < at + 4) return undefined;
  const end = at + bytes.readInt32BE(at);
  return bytes.length < end ? undefined : end;
}

function lastMessageType(request: Buffer): number {
  let type = 0;
  for (let position = 0; position < request.length;) {
    type = request[position] ?? 0;
    position = measureMessage(request, position) ?? request.length;
  }
  return type;
}

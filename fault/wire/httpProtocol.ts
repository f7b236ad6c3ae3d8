import type { Protocol } from './protocol.js';
import type { Measure } from './splitter.js';

const HEAD_END = '\r\n\r\n';

/** HTTP/1.1 as a carrier's client uses it: one request at a time, with Content-Length. */
export const httpProtocol: Protocol = {
  requests: () => measureRequest,
  // The first bytes of a response are enough to detect it.
  replies: () => (bytes) => (bytes.length === 0 ? undefined : bytes.length),
  isAnswered: () => true,
  endsResponse: () => true,
  greetings: 0,
};

const measureRequest: Measure = (bytes, start) => {
  const headEnd = bytes.indexOf(HEAD_END, start);
  if (headEnd < 0) return undefined;
  const head = bytes.toString('latin1', start, headEnd);
  const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
  const end = headEnd + HEAD_END.length + length;
  return bytes.length < end ? undefined : end;
};

import type { Protocol } from './protocol.js';
import type { Measure } from './splitter.js';

const LINE_END = '\r\n';
const EMAIL_END = '\r\n.\r\n';

/** SMTP without pipelining: a request is one command, or an email up to its final dot. */
export const smtpProtocol: Protocol = {
  requests: measureRequests,
  replies: () => measureReply,
  isAnswered: () => true,
  endsResponse: () => true,
  greetings: 1,
};

function measureRequests(): Measure {
  let isEmail = false;
  return (bytes, start) => {
    const mark = isEmail ? EMAIL_END : LINE_END;
    const found = bytes.indexOf(mark, start);
    if (found < 0) return undefined;
    const end = found + mark.length;
    isEmail = !isEmail && /^DATA\r\n$/i.test(bytes.toString('latin1', start, end));
    return end;
  };
}

/** All lines of a reply except the last have a hyphen after the code. */
const measureReply: Measure = (bytes, start) => {
  for (let at = start; ;) {
    const lineEnd = bytes.indexOf(LINE_END, at);
    if (lineEnd < 0) return undefined;
    const next = lineEnd + LINE_END.length;
    if (bytes[at + 3] !== '-'.charCodeAt(0)) return next;
    at = next;
  }
};

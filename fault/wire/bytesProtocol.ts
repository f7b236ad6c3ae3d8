import type { Protocol } from './protocol.js';

/** Any protocol, of which nothing needs to be known: whatever arrives is passed on. */
export const bytesProtocol: Protocol = {
  requests: () => (bytes) => (bytes.length === 0 ? undefined : bytes.length),
  replies: () => (bytes) => (bytes.length === 0 ? undefined : bytes.length),
  isAnswered: () => false,
  endsResponse: () => false,
  greetings: 0,
};

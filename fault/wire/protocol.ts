import type { Measure } from './splitter.js';

/** What a link must know of a protocol to separate requests and match responses to them. */
export interface Protocol {
  /** Measures what one connection's client sends: a unit is one request. */
  requests(): Measure;
  /** Measures what the server sends back. */
  replies(): Measure;
  /** Whether the request gets a response that `endsResponse` recognizes. */
  isAnswered(request: Buffer): boolean;
  /** Whether this unit completes a response. Responses arrive in the order of requests. */
  endsResponse(reply: Buffer): boolean;
  /** Responses that arrive before any request. */
  readonly greetings: number;
}

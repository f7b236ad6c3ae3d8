import http from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';
import { ReceivedBytes } from '../../foundation/net/receivedBytes.js';
import { traceparentOf, type Span } from '../../foundation/observability/tracing/tracing.js';

/** What was observed of one call to the carrier. */
export interface Exchange {
  /** The request has started, so the email may have been sent. */
  started: boolean;
  /** Aborted just before the request was written. */
  fenced: boolean;
  /** Aborted at its deadline. */
  late: boolean;
  status: number | undefined;
  headers: Readonly<Record<string, unknown>>;
  /** Parsed JSON; undefined when it is not JSON, or is incomplete. */
  body: unknown;
  /** The network error. */
  error: unknown;
}

/** A request as @sendgrid/mail passes it to its client. */
export interface CarrierRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON unless it is bytes already. */
  readonly body?: object | Uint8Array;
}

export interface CallOptions {
  /** From connecting to the last byte of the response. */
  readonly deadlineMs: number;
  /** Checked once the connection is established, just before the request is written. */
  readonly mayStart: () => boolean;
  /** The span whose trace the carrier may continue. */
  readonly span?: Span | undefined;
}

const MAX_SOCKETS = 256;
/** Responses are a few hundred bytes. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Calls the carrier's API over keep-alive connections. Follows no redirects, which would send key and email elsewhere. */
export class CarrierClient {
  readonly #protocol: typeof http | typeof https;
  readonly #agent: http.Agent;
  readonly #options: http.RequestOptions;
  readonly #basePath: string;

  constructor(baseUrl: string) {
    const url = new URL(baseUrl);
    this.#protocol = url.protocol === 'https:' ? https : http;
    this.#agent = new this.#protocol.Agent({ keepAlive: true, maxSockets: MAX_SOCKETS });
    this.#options = { ...urlToHttpOptions(url), agent: this.#agent };
    this.#basePath = url.pathname.replace(/\/+$/, '');
  }

  /** Carrier and network errors are part of the exchange. Rejects for a request that is invalid as HTTP. */
  call({ method, url, headers, body }: CarrierRequest, options: CallOptions): Promise<Exchange> {
    const exchange = newExchange();
    const content = contentOf(body);
    return new Promise((resolve) => {
      const request = this.#protocol.request({
        ...this.#options,
        method,
        path: `${this.#basePath}${url}`,
        headers: { ...headers, ...traceparentOf(options.span), 'Content-Length': Buffer.byteLength(content) },
      });
      const deadline = setTimeout(() => {
        exchange.late = true;
        request.destroy();
      }, options.deadlineMs);
      const begin = (): void => {
        try {
          exchange.started = options.mayStart();
          exchange.fenced = !exchange.started;
          // A string is sent in the same write as the headers.
          if (exchange.started) request.end(content);
          else request.destroy();
        } catch (error) {
          // Thrown here, it would end the process.
          request.destroy(error as Error);
        }
      };
      // Getting a connection may take long, because all are busy or the process was suspended, so the lease is checked
      // afterwards.
      request.once('socket', (socket) => {
        if (!socket.connecting) begin();
        else socket.once(this.#protocol === https ? 'secureConnect' : 'connect', begin);
      });
      request.once('response', (response) => readResponseInto(exchange, response));
      request.on('error', (error) => {
        exchange.error = error;
      });
      request.once('close', () => {
        clearTimeout(deadline);
        resolve(exchange);
      });
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

function contentOf(body: object | Uint8Array | undefined): Uint8Array | string {
  if (body === undefined) return '';
  return body instanceof Uint8Array ? body : JSON.stringify(body);
}

/** @param error why the call was not made */
export function newExchange(error?: unknown): Exchange {
  return {
    started: false,
    fenced: false,
    late: false,
    status: undefined,
    headers: {},
    body: undefined,
    error,
  };
}

/** The status counts once received, whatever happens to the body. */
function readResponseInto(exchange: Exchange, response: http.IncomingMessage): void {
  exchange.status = response.statusCode;
  exchange.headers = response.headers;
  const received = new ReceivedBytes();
  response.on('data', (part: Buffer) => {
    received.add(part);
    if (received.length > MAX_RESPONSE_BYTES) response.destroy();
  });
  response.once('end', () => {
    exchange.body = parseJson(received.toBuffer().toString());
  });
  response.on('error', () => {
    // The body is incomplete, but the status determines the outcome.
  });
}

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    // An HTML page, for example, adds nothing to the status.
    return undefined;
  }
}

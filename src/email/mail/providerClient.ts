import http from 'node:http';
import https from 'node:https';
import { urlToHttpOptions } from 'node:url';

/** What was seen of one call to the provider. */
export interface Exchange {
  /** The connection stood, so the mail may have left. */
  begun: boolean;
  /** Stopped just before it began. */
  fenced: boolean;
  /** Ended at its deadline. */
  late: boolean;
  status: number | undefined;
  headers: Readonly<Record<string, unknown>>;
  /** Parsed from JSON; undefined when it is none, or did not arrive whole. */
  body: unknown;
  /** What broke it. */
  error: unknown;
}

/** As @sendgrid/mail gives it to its client. */
export interface ProviderRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: object;
}

export interface CallTerms {
  /** From connect to the last byte of the answer. */
  readonly deadlineMs: number;
  /** Asked once, on a connection that stands, just before the request is written. */
  readonly mayStart: () => boolean;
}

const MAX_SOCKETS = 256;
/** An answer is a few hundred bytes. */
const MAX_ANSWER_BYTES = 256 * 1024;

/** Calls the provider's API on connections that are kept. It follows no redirect: that would take key and mail elsewhere. */
export class ProviderClient {
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

  /** What the provider or the network did is in the exchange. Rejects for a request that HTTP can't carry. */
  call({ method, url, headers, body }: ProviderRequest, terms: CallTerms): Promise<Exchange> {
    const exchange = newExchange();
    const text = JSON.stringify(body);
    return new Promise((resolve) => {
      const request = this.#protocol.request({
        ...this.#options,
        method,
        path: `${this.#basePath}${url}`,
        headers: { ...headers, 'Content-Length': Buffer.byteLength(text) },
      });
      const deadline = setTimeout(() => {
        exchange.late = true;
        request.destroy();
      }, terms.deadlineMs);
      const begin = (): void => {
        exchange.begun = terms.mayStart();
        exchange.fenced = !exchange.begun;
        // As a string it leaves in one write with the headers.
        if (exchange.begun) request.end(text);
        else request.destroy();
      };
      // The way to a connection may be long: all are taken, or this process was stopped on it. Whose turn the mail is
      // is asked at its end.
      request.once('socket', (socket) => {
        if (!socket.connecting) begin();
        else socket.once(this.#protocol === https ? 'secureConnect' : 'connect', begin);
      });
      request.once('response', (response) => readAnswerInto(exchange, response));
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

/** @param error why it never began */
export function newExchange(error?: unknown): Exchange {
  return {
    begun: false,
    fenced: false,
    late: false,
    status: undefined,
    headers: {},
    body: undefined,
    error,
  };
}

/** The status counts as soon as it is there, whatever becomes of the body. */
function readAnswerInto(exchange: Exchange, response: http.IncomingMessage): void {
  exchange.status = response.statusCode;
  exchange.headers = response.headers;
  const parts: Buffer[] = [];
  let bytes = 0;
  response.on('data', (part: Buffer) => {
    parts.push(part);
    bytes += part.length;
    if (bytes > MAX_ANSWER_BYTES) response.destroy();
  });
  response.once('end', () => {
    exchange.body = parseJson(Buffer.concat(parts).toString());
  });
  response.on('error', () => {
    // It broke off, and the status says what became of the mail.
  });
}

function parseJson(text: string): unknown {
  try {
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    // A page of HTML or the like says nothing that the status does not.
    return undefined;
  }
}

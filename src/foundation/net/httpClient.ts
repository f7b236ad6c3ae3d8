import http from 'node:http';
import https from 'node:https';
import { connect, type TcpNetConnectOpts } from 'node:net';
import type { Duplex } from 'node:stream';
import type { TLSSocket } from 'node:tls';
import { traceparentOf, type Span } from '../observability/tracing/tracing.js';
import { BOUNDED_TLS } from './boundedTls.js';
import { MeteredSocket, TooMuchTls } from './meteredSocket.js';
import { isPrivateAddress, literalAddress } from './networkAddress.js';
import { PrivateAddress, publicLookup } from './publicLookup.js';
import { ReceivedBytes } from './receivedBytes.js';

export interface HttpRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | string;
}

/** What was observed of one request. */
export interface Exchange {
  /** The request was written, at least in part. */
  started: boolean;
  /** Aborted just before the request was written. */
  fenced: boolean;
  /** Aborted at its deadline. */
  late: boolean;
  /** Aborted because of the size of the response, or of what came with it. */
  tooLarge: boolean;
  status: number | undefined;
  headers: Readonly<Record<string, unknown>>;
  /** The whole body, without a byte order mark; undefined if it is incomplete. */
  text: string | undefined;
  /** The network error; PrivateAddress or Unencrypted for an address that is not called. */
  error: unknown;
}

/** The address is not https. */
export class Unencrypted extends Error {}

interface ClientOptions {
  /** Allows private addresses, and plain http. */
  readonly allowPrivateNetwork: boolean;
  readonly maxResponseBytes: number;
  /** Whether connections stay open for later requests. */
  readonly keepAlive?: boolean;
  /** Whether tenants choose the servers: what TLS itself receives is limited then, which takes CPU time. */
  readonly anyServer?: boolean;
}

export interface CallOptions {
  /** From name resolution to the last byte of the response. */
  readonly deadlineMs: number;
  /** Checked once the connection is established, just before the request is written. */
  readonly mayStart?: () => boolean;
  /** The span whose trace the server may continue. */
  readonly span?: Span | undefined;
}

const MAX_SOCKETS = 256;
/** As 100 Continue and 103 Early Hints. Each takes microseconds, and no size is a limit on their number. */
const MAX_INTERIM_RESPONSES = 8;
/** What a piece of a body takes to read, in bytes: a server may send a megabyte in pieces of one byte. */
const PIECE_BYTES = 64;
/** A record of TLS adds 22 bytes, and need not have more than a few of its own. */
const TLS_OVERHEAD = 2;
/** Without Accept-Encoding, a server may compress (RFC 9110, 12.5.3). Firewalls refuse requests without a User-Agent. */
const HEADERS = { 'accept-encoding': 'identity', 'user-agent': 'rowpost' };

/**
 * Calls servers of others. Follows no redirects, which would send secrets elsewhere. Node's http client instead of fetch: an address
 * is checked on connecting, so that the name can't be rebound between the check and the call, and a call on an idle connection
 * can still be called off.
 */
export class HttpClient {
  readonly #options: ClientOptions;
  readonly #plain: http.Agent;
  readonly #encrypted: https.Agent;

  constructor(options: ClientOptions) {
    this.#options = options;
    const agentOptions = { keepAlive: options.keepAlive ?? false, maxSockets: MAX_SOCKETS };
    this.#plain = new http.Agent(agentOptions);
    this.#encrypted = options.anyServer ? new MeteredAgent(agentOptions) : new https.Agent(agentOptions);
  }

  /** Errors of the server and the network are part of the exchange. Rejects for a request that is invalid as HTTP. */
  call(
    { method, url, headers, body = '' }: HttpRequest,
    { deadlineMs, mayStart = () => true, span }: CallOptions,
  ): Promise<Exchange> {
    const { allowPrivateNetwork, maxResponseBytes } = this.#options;
    const exchange = newExchange(allowPrivateNetwork ? undefined : refusalOf(url));
    if (exchange.error !== undefined) return Promise.resolve(exchange);
    const isEncrypted = url.protocol === 'https:';
    return new Promise((resolve) => {
      const request = (isEncrypted ? https : http).request(url, {
        method,
        headers: {
          'Content-Length': Buffer.byteLength(body),
          ...headers,
          ...HEADERS,
          ...traceparentOf(span),
        },
        agent: isEncrypted ? this.#encrypted : this.#plain,
        ...BOUNDED_TLS,
        ...(allowPrivateNetwork ? {} : { lookup: publicLookup }),
      });
      const deadline = setTimeout(() => {
        exchange.late = true;
        request.destroy();
      }, deadlineMs);
      const begin = (): void => {
        try {
          exchange.started = mayStart();
          exchange.fenced = !exchange.started;
          // A string is sent in the same write as the headers.
          if (exchange.started) request.end(body);
          else request.destroy();
        } catch (error) {
          // Thrown here, it would end the process.
          request.destroy(error as Error);
        }
      };
      // Getting a connection may take long, because all are busy or the process was suspended, so whether it may start is
      // checked afterwards.
      request.once('socket', (socket) => {
        if (!socket.connecting && !MeteredAgent.connecting.has(socket)) begin();
        else socket.once(isEncrypted ? 'secureConnect' : 'connect', begin);
      });
      request.once('response', (response) => readResponseInto(exchange, response, maxResponseBytes));
      let interim = 0;
      request.on('information', () => {
        exchange.tooLarge = ++interim > MAX_INTERIM_RESPONSES;
        if (exchange.tooLarge) request.destroy();
      });
      request.on('error', (error) => {
        exchange.error = error;
        exchange.tooLarge ||= error instanceof TooMuchTls;
      });
      request.once('close', () => {
        clearTimeout(deadline);
        resolve(exchange);
      });
    });
  }

  close(): void {
    this.#plain.destroy();
    this.#encrypted.destroy();
  }
}

class MeteredAgent extends https.Agent {
  /** Connections without a handshake yet, whose `connecting` is false. */
  static readonly connecting = new WeakSet<Duplex>();

  override createConnection(
    options: https.RequestOptions,
    callback?: (error: Error | null, stream: Duplex) => void,
  ): Duplex | null | undefined {
    const metered = new MeteredSocket(connect(options as TcpNetConnectOpts), TLS_OVERHEAD);
    const given = { ...options, socket: metered } as https.RequestOptions;
    const socket = super.createConnection(given, callback) as TLSSocket;
    metered.readableBytes = () => socket.bytesRead;
    MeteredAgent.connecting.add(socket);
    socket.once('secureConnect', () => MeteredAgent.connecting.delete(socket));
    return socket;
  }
}

/** @param error why the call was not made */
export function newExchange(error?: unknown): Exchange {
  return {
    started: false,
    fenced: false,
    late: false,
    tooLarge: false,
    status: undefined,
    headers: {},
    text: undefined,
    error,
  };
}

function refusalOf(url: URL): Error | undefined {
  if (url.protocol !== 'https:') return new Unencrypted();
  const address = literalAddress(url);
  return address !== undefined && isPrivateAddress(address) ? new PrivateAddress() : undefined;
}

/** The status counts once received, whatever happens to the body. */
function readResponseInto(exchange: Exchange, response: http.IncomingMessage, maxBytes: number): void {
  exchange.status = response.statusCode;
  exchange.headers = response.headers;
  const received = new ReceivedBytes();
  let pieces = 0;
  response.on('data', (part: Buffer) => {
    received.add(part);
    pieces += 1;
    exchange.tooLarge = received.length + (pieces - 1) * PIECE_BYTES > maxBytes;
    if (exchange.tooLarge) response.destroy();
  });
  response.once('end', () => {
    // It may have come with the bytes beyond the limit.
    if (!exchange.tooLarge) exchange.text = new TextDecoder().decode(received.toBuffer());
  });
  response.on('error', (error) => {
    exchange.error = error;
  });
}

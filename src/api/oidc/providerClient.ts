import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest, type RequestOptions } from 'node:https';
import { isPrivateAddress, literalAddress } from '../../foundation/net/networkAddress.js';
import { PrivateAddress, publicLookup } from '../../foundation/net/publicLookup.js';
import { BOUNDED_TLS } from '../../foundation/net/boundedTls.js';
import { ReceivedBytes } from '../../foundation/net/receivedBytes.js';
import { oidcFailure } from './oidcFailure.js';

export interface ProviderRequest {
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface ProviderResponse {
  readonly status: number;
  /** Without a byte order mark. */
  readonly text: string;
}

/** Sends one request to a provider, following no redirects. Throws AppError OIDC_PROVIDER_ERROR when there is no response. */
export type ProviderClient = (url: URL, request: ProviderRequest) => Promise<ProviderResponse>;

export interface ProviderClientOptions {
  /** For the whole exchange, from name resolution to the last byte. */
  readonly timeoutMs: number;
  /** Allows private addresses, and plain http. */
  readonly allowPrivateNetwork: boolean;
}

/** Without Accept-Encoding, a server may compress (RFC 9110, 12.5.3). Firewalls refuse requests without a User-Agent. */
const HEADERS = { 'accept-encoding': 'identity', 'user-agent': 'rowpost' };

/** Key sets take a few kilobytes, token responses less. */
const MAX_BYTES = 256 * 1024;

/**
 * Node's http client instead of fetch: the resolved address is checked on connecting, so that the name can't be rebound
 * between the check and the call.
 */
export function createProviderClient(options: ProviderClientOptions): ProviderClient {
  return async (url, { method, headers, body }) => {
    if (!options.allowPrivateNetwork) refuseUnsafe(url);
    const requestOptions: RequestOptions = {
      ...BOUNDED_TLS,
      method,
      headers: {
        ...headers,
        ...HEADERS,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      signal: AbortSignal.timeout(options.timeoutMs),
      ...(options.allowPrivateNetwork ? {} : { lookup: publicLookup }),
    };
    try {
      return await new Promise<ProviderResponse>((resolve, reject) => {
        const start = url.protocol === 'https:' ? httpsRequest : httpRequest;
        start(url, requestOptions, (response) => {
          readResponse(response).then(resolve, reject);
        })
          .on('error', reject)
          .end(body);
      });
    } catch (error) {
      throw oidcFailure('OIDC_PROVIDER_ERROR', `${url.host} ${describe(error, options.timeoutMs)}.`);
    }
  };
}

async function readResponse(response: IncomingMessage): Promise<ProviderResponse> {
  const received = new ReceivedBytes();
  for await (const chunk of response as AsyncIterable<Buffer>) {
    received.add(chunk);
    if (received.length > MAX_BYTES) {
      response.destroy();
      throw new TooLarge();
    }
  }
  return { status: response.statusCode ?? 0, text: new TextDecoder().decode(received.toBuffer()) };
}

class TooLarge extends Error {}

function refuseUnsafe(url: URL): void {
  const address = literalAddress(url);
  if (url.protocol !== 'https:') {
    throw oidcFailure('OIDC_PROVIDER_ERROR', `${url.host} is not called without encryption.`, PRIVATE_HINT);
  }
  if (address !== undefined && isPrivateAddress(address)) {
    throw oidcFailure('OIDC_PROVIDER_ERROR', `${url.host} ${PRIVATE}.`, PRIVATE_HINT);
  }
}

const PRIVATE = 'lies in a private network';
const PRIVATE_HINT = 'OIDC_ALLOW_PRIVATE_NETWORK=true allows it to this installation.';

/** The cause in terms that an administrator can act on; contains no addresses. */
function describe(error: unknown, timeoutMs: number): string {
  if (error instanceof TooLarge) return `sent more than ${MAX_BYTES} bytes`;
  if (error instanceof PrivateAddress) return PRIVATE;
  const { name, code } = error as NodeJS.ErrnoException;
  if (name === 'AbortError' || name === 'TimeoutError') return `did not respond within ${timeoutMs} ms`;
  return `can't be reached (${code ?? 'connection failed'})`;
}

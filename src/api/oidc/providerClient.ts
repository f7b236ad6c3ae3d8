import { HttpClient, Unencrypted } from '../../foundation/net/httpClient.js';
import { PrivateAddress } from '../../foundation/net/publicLookup.js';
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

/** Key sets take a few kilobytes, token responses less. */
const MAX_BYTES = 256 * 1024;
const PRIVATE_HINT = 'OIDC_ALLOW_PRIVATE_NETWORK=true allows it to this installation.';

export function createProviderClient({
  timeoutMs,
  allowPrivateNetwork,
}: ProviderClientOptions): ProviderClient {
  const client = new HttpClient({ allowPrivateNetwork, maxResponseBytes: MAX_BYTES, anyServer: true });
  return async (url, request) => {
    const exchange = await client.call({ ...request, url }, { deadlineMs: timeoutMs });
    const { status, text, late, tooLarge, error } = exchange;
    if (status !== undefined && text !== undefined) return { status, text };
    const fail = (why: string, hint?: string): Error =>
      oidcFailure('OIDC_PROVIDER_ERROR', `${url.host} ${why}.`, hint);
    // The cause in terms that an administrator can act on; contains no addresses.
    if (error instanceof Unencrypted) throw fail('is not called without encryption', PRIVATE_HINT);
    if (error instanceof PrivateAddress) throw fail('lies in a private network', PRIVATE_HINT);
    if (tooLarge) throw fail(`sent more than ${MAX_BYTES} bytes`);
    if (late) throw fail(`did not respond within ${timeoutMs} ms`);
    throw fail(
      `can't be reached (${(error as NodeJS.ErrnoException | undefined)?.code ?? 'connection failed'})`,
    );
  };
}

import {
  HttpClient,
  newExchange,
  type CallOptions,
  type Exchange as HttpExchange,
} from '../../foundation/net/httpClient.js';

/** What was observed of one call to the carrier. */
export interface Exchange extends HttpExchange {
  /** Parsed JSON; undefined when it is not JSON, or is incomplete. */
  readonly body: unknown;
}

/** A request as @sendgrid/mail passes it to its client. */
export interface CarrierRequest {
  readonly method: string;
  /** The path. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as JSON, without members that are undefined, unless it is bytes already. */
  readonly body?: object | Uint8Array;
}

/** Responses are a few hundred bytes. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Calls the carrier's API, whose address the operator has chosen. */
export class CarrierClient {
  readonly #http = new HttpClient({
    allowPrivateNetwork: true,
    maxResponseBytes: MAX_RESPONSE_BYTES,
    keepAlive: true,
  });
  readonly #baseUrl: string;

  constructor(baseUrl: string) {
    this.#baseUrl = baseUrl.replace(/\/+$/, '');
  }

  /** Never rejects. */
  async call({ method, url, headers, body }: CarrierRequest, options: CallOptions): Promise<Exchange> {
    const content = body === undefined || body instanceof Uint8Array ? body : JSON.stringify(body);
    const request = { method, url: new URL(`${this.#baseUrl}${url}`), headers };
    try {
      const exchange = await this.#http.call(
        content === undefined ? request : { body: content, ...request },
        options,
      );
      return { body: parseJson(exchange.text), ...exchange };
    } catch (error) {
      // It is invalid as HTTP.
      return failedExchange(error);
    }
  }

  close(): void {
    this.#http.close();
  }
}

/** A list for a member that is left out if there is nothing in it. */
export const ifAny = <T>(list: readonly T[]): readonly T[] | undefined =>
  list.length > 0 ? list : undefined;

/** @param error why the call was not made */
export const failedExchange = (error: unknown): Exchange => ({ ...newExchange(error), body: undefined });

function parseJson(text: string | undefined): unknown {
  try {
    return text === undefined || text === '' ? undefined : (JSON.parse(text) as unknown);
  } catch {
    // An HTML page, for example, adds nothing to the status.
    return undefined;
  }
}

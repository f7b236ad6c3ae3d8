import type { Exchange } from './providerClient.js';
import type { SendOutcome } from './transport.js';

const MIN_WAIT_MS = 1_000;
const MAX_WAIT_MS = 3_600_000;
const MAX_MESSAGE_CHARACTERS = 300;

/** Interprets the response by the statuses that the provider documents. */
function readAnswer(status: number, headers: Readonly<Record<string, unknown>>, body: unknown): SendOutcome {
  const message = describeBody(body) ?? `the provider answered ${status}`;
  if (status >= 200 && status < 300) {
    const id = headers['x-message-id'];
    return {
      kind: 'sent',
      httpStatus: status,
      providerMessageId: typeof id === 'string' ? id.slice(0, 200) : null,
    };
  }
  if (status === 401) {
    const code = /credit/i.test(message) ? 'CREDITS_EXCEEDED' : 'APIKEY_REFUSED';
    return { kind: 'tenant_paused', httpStatus: status, code, message };
  }
  if (status === 403) {
    // The same status means a blocked account or an unverified sender address.
    return concernsSender(body)
      ? { kind: 'rejected', httpStatus: status, code: 'SENDER_NOT_VERIFIED', message }
      : { kind: 'tenant_paused', httpStatus: status, code: 'ACCOUNT_BLOCKED', message };
  }
  if (status === 429) return { kind: 'rate_limited', httpStatus: status, waitMs: readWait(headers) };
  if (status === 408 || (status >= 300 && status < 400)) {
    return { kind: 'retry', ambiguous: false, httpStatus: status, code: `PROVIDER_${status}`, message };
  }
  if (status >= 400 && status < 500) {
    return { kind: 'rejected', httpStatus: status, code: `PROVIDER_${status}`, message };
  }
  return { kind: 'retry', ambiguous: true, httpStatus: status, code: `PROVIDER_${status}`, message };
}

/**
 * Interprets an exchange. Its error is not passed on.
 * @param apiKey redacted from anything that the provider may have echoed
 */
export function readExchange(exchange: Exchange, apiKey: string): SendOutcome {
  if (exchange.fenced) return { kind: 'fenced' };
  // Once there is a status, it doesn't matter if the rest of the response was slow, incomplete or garbage.
  if (exchange.status !== undefined) {
    return withoutKey(readAnswer(exchange.status, exchange.headers, exchange.body), apiKey);
  }
  const code = exchange.late ? 'PROVIDER_TIMEOUT' : networkCode(exchange.error);
  const fate = exchange.begun ? 'the mail may have been accepted' : 'the mail did not leave';
  const what = exchange.late ? 'the provider did not answer in time' : `the call broke (${code})`;
  return { kind: 'retry', ambiguous: exchange.begun, httpStatus: null, code, message: `${what}; ${fate}` };
}

function networkCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : 'NETWORK_ERROR';
}

/** Milliseconds until the provider accepts mail again. */
function readWait(headers: Readonly<Record<string, unknown>>): number {
  const reset = Number(headers['x-ratelimit-reset']);
  const retryAfter = headers['retry-after'];
  let waitMs = MIN_WAIT_MS;
  if (Number.isFinite(reset) && reset > 0) waitMs = reset * 1000 - Date.now();
  else if (typeof retryAfter === 'string') {
    const seconds = Number(retryAfter);
    waitMs = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(retryAfter) - Date.now();
  }
  if (Number.isNaN(waitMs)) waitMs = MIN_WAIT_MS;
  return Math.min(Math.max(waitMs, MIN_WAIT_MS), MAX_WAIT_MS);
}

interface ProviderError {
  readonly message?: unknown;
  readonly field?: unknown;
}

function providerErrors(body: unknown): readonly ProviderError[] {
  const errors = (body as { errors?: unknown } | null | undefined)?.errors;
  if (!Array.isArray(errors)) return [];
  return (errors as (ProviderError | null)[]).filter((item) => item !== null && typeof item === 'object');
}

/** The provider's error messages; undefined for HTML pages and the like, which are useless to the tenant. */
function describeBody(body: unknown): string | undefined {
  const words = providerErrors(body)
    .map((item) => (typeof item.message === 'string' ? item.message : ''))
    .filter((text) => text !== '')
    .join('; ');
  return words === '' ? undefined : words.slice(0, MAX_MESSAGE_CHARACTERS);
}

function concernsSender(body: unknown): boolean {
  return providerErrors(body).some(
    (item) =>
      item.field === 'from' || (typeof item.message === 'string' && /sender identity/i.test(item.message)),
  );
}

function withoutKey(outcome: SendOutcome, apiKey: string): SendOutcome {
  if (!('message' in outcome) || apiKey === '') return outcome;
  return { ...outcome, message: outcome.message.replaceAll(apiKey, '[key]') };
}

import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { toPostgresText } from '../postgresText.js';
import type { Exchange } from './carrierClient.js';
import { readWait } from './rateLimitWait.js';
import type { SendOutcome, Verification } from './sending.js';

const MAX_MESSAGE_CHARACTERS = 300;
export const MAX_ID_CHARACTERS = 200;

/** A carrier's HTTP response. */
export interface CarrierResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  /** Parsed JSON; undefined if it was not JSON. */
  readonly body: unknown;
}

/**
 * Interprets an exchange, without passing on its error.
 * @param readResponse interprets the statuses that the carrier documents
 * @param secrets redacted from anything that the carrier may have echoed
 */
export function readExchange(
  exchange: Exchange,
  readResponse: (response: CarrierResponse) => SendOutcome,
  secrets: readonly string[],
): SendOutcome {
  if (exchange.fenced) return { kind: 'fenced' };
  // Once there is a status, it doesn't matter if the rest of the response was slow, incomplete or garbage.
  const { status, headers, body } = exchange;
  if (status !== undefined) return cleanOutcome(readResponse({ status, headers, body }), secrets);
  const code = exchange.late ? 'CARRIER_TIMEOUT' : networkCode(exchange.error);
  const fate = exchange.started ? 'the email may have been accepted' : 'the email did not leave';
  const what = exchange.late ? 'the carrier did not respond in time' : `the call broke (${code})`;
  return { kind: 'retry', ambiguous: exchange.started, httpStatus: null, code, message: `${what}; ${fate}` };
}

/** Whether a carrier recognizes an account, determined by its response to a request that sends nothing. */
export function verificationOf(
  exchange: Exchange,
  describe: (response: CarrierResponse) => string,
  secrets: readonly string[],
): Verification {
  const { status, headers, body } = exchange;
  if (status !== undefined && status >= 200 && status < 300) return { ok: true };
  if (status === undefined) {
    const why = exchange.late
      ? 'did not respond in time'
      : `can't be reached (${networkCode(exchange.error)})`;
    return { ok: false, message: `the carrier ${why}` };
  }
  const words = redact(describe({ status, headers, body }), secrets);
  const statusText = statusOnly(status);
  return { ok: false, message: words === statusText ? statusText : `${statusText}: ${words}` };
}

/** Interprets statuses with the same meaning everywhere; carriers handle their own first. */
export function readCommonStatus({ status, headers }: CarrierResponse, message: string): SendOutcome {
  const code = `CARRIER_${status}`;
  if (status === 429)
    return { kind: 'rate_limited', httpStatus: status, waitMs: readWait(headers, Date.now()) };
  if (status === 408 || (status >= 300 && status < 400)) {
    return { kind: 'retry', ambiguous: false, httpStatus: status, code, message };
  }
  if (status >= 400 && status < 500) return { kind: 'rejected', httpStatus: status, code, message };
  return { kind: 'retry', ambiguous: true, httpStatus: status, code, message };
}

/** The members of a response's body, if it is an object. */
export function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return isJsonObject(body) ? body : {};
}

/** @param id the carrier's for the email, as it was given */
export function sentAs(id: unknown, status: number): SendOutcome {
  const providerMessageId = typeof id === 'string' ? id.slice(0, MAX_ID_CHARACTERS) : null;
  return { kind: 'sent', httpStatus: status, providerMessageId };
}

/** The carrier's message truncated for the ledger, or the status if there is none. */
export function wordsOf(words: unknown, status: number): string {
  return typeof words === 'string' && words !== ''
    ? words.slice(0, MAX_MESSAGE_CHARACTERS)
    : statusOnly(status);
}

const statusOnly = (status: number): string => `the carrier responded with ${status}`;

export function networkCode(error: unknown): string {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,40}$/.test(code) ? code : 'NETWORK_ERROR';
}

/**
 * The outcome without secrets in any of the carrier's words, which are storable now that they are truncated: one that is not would
 * make PostgreSQL reject the outcomes of other tenants recorded in the same statement.
 */
export function cleanOutcome(outcome: SendOutcome, secrets: readonly string[]): SendOutcome {
  const clean = (text: string): string => toPostgresText(redact(text, secrets));
  const refused = 'refused' in outcome ? outcome.refused : undefined;
  return {
    ...outcome,
    ...('message' in outcome ? { message: clean(outcome.message) } : {}),
    ...('providerMessageId' in outcome && outcome.providerMessageId !== null
      ? { providerMessageId: clean(outcome.providerMessageId) }
      : {}),
    ...(refused ? { refused: refused.map((each) => ({ ...each, reason: clean(each.reason) })) } : {}),
  };
}

/** Also redacts a secret that the end of a truncated text has cut off. */
export function redact(text: string, secrets: readonly string[]): string {
  const mayBeCut = text.length >= MAX_ID_CHARACTERS;
  return secrets.reduce((rest, secret) => {
    const clean = rest.replaceAll(secret, '[key]');
    return mayBeCut ? withoutBeginning(clean, secret) : clean;
  }, text);
}

/** Fewer characters may be a coincidence. */
const MIN_CUT_CHARACTERS = 3;

function withoutBeginning(text: string, secret: string): string {
  for (let length = secret.length - 1; length >= MIN_CUT_CHARACTERS; length--) {
    if (text.endsWith(secret.slice(0, length))) return `${text.slice(0, -length)}[key]`;
  }
  return text;
}

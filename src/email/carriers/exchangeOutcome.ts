import { isJsonObject } from '../../foundation/json/losslessJson.js';
import { toPostgresText } from '../../foundation/postgresText.js';
import type { LoadedEmail } from './carrier.js';
import type { Exchange } from './carrierClient.js';
import { readWait } from './rateLimitWait.js';
import type { RefusedRecipient, SendOutcome, Verification } from './sending.js';

const MAX_MESSAGE_CHARACTERS = 300;
export const MAX_ID_CHARACTERS = 200;

/** A carrier's HTTP response. */
export interface CarrierResponse {
  readonly status: number;
  readonly headers: Fields;
  /** Its members; none if it was not a JSON object. */
  readonly body: Fields;
  /** The carrier's words, truncated for the ledger, or the status if there are none. */
  readonly message: string;
}
export type Fields = Readonly<Record<string, unknown>>;

/** How a carrier responds, by its documentation. */
export interface ResponseReader {
  /** Its words for people; anything but text is none. */
  wordsIn(body: Fields): unknown;
  /** Its id for an email that it has accepted. */
  idIn(response: CarrierResponse): unknown;
  /** Recipients that it sends nothing to, as far as a response names them. */
  refusedIn?(response: CarrierResponse, email: LoadedEmail): readonly RefusedRecipient[];
  /** What it means that an email was not accepted; undefined if the status says it, as everywhere. */
  readFailure(response: CarrierResponse, email: LoadedEmail): SendOutcome | undefined;
}

/** The response of an exchange; undefined if there was none. */
export function responseOf(exchange: Exchange, reader: ResponseReader): CarrierResponse | undefined {
  const { status, headers } = exchange;
  if (status === undefined) return undefined;
  const body = isJsonObject(exchange.body) ? exchange.body : {};
  const words = reader.wordsIn(body);
  const message =
    typeof words === 'string' && words !== '' ? words.slice(0, MAX_MESSAGE_CHARACTERS) : statusOnly(status);
  return { status, headers, body, message };
}

/**
 * Interprets an exchange, without passing on its error.
 * @param secrets redacted from anything that the carrier may have echoed
 */
export function readExchange(
  exchange: Exchange,
  reader: ResponseReader,
  email: LoadedEmail,
  secrets: readonly string[],
): SendOutcome {
  if (exchange.fenced) return { kind: 'fenced' };
  // Once there is a status, it doesn't matter if the rest of the response was slow, incomplete or garbage.
  const response = responseOf(exchange, reader);
  if (response) {
    const outcome = isAccepted(response)
      ? sentAs(response, reader, email)
      : (reader.readFailure(response, email) ?? readCommonStatus(response));
    return cleanOutcome(outcome, secrets);
  }
  const code = exchange.late ? 'CARRIER_TIMEOUT' : networkCode(exchange.error);
  const fate = exchange.started ? 'the email may have been accepted' : 'the email did not leave';
  const what = exchange.late ? 'the carrier did not respond in time' : `the call broke (${code})`;
  return { kind: 'retry', ambiguous: exchange.started, httpStatus: null, code, message: `${what}; ${fate}` };
}

/** Whether a carrier recognizes an account, determined by its response to a request that sends nothing. */
export function verificationOf(
  exchange: Exchange,
  reader: ResponseReader,
  secrets: readonly string[],
): Verification {
  const response = responseOf(exchange, reader);
  if (!response) {
    const why = exchange.late
      ? 'did not respond in time'
      : `can't be reached (${networkCode(exchange.error)})`;
    return { ok: false, message: `the carrier ${why}` };
  }
  if (isAccepted(response)) return { ok: true };
  const words = redact(response.message, secrets);
  const statusText = statusOnly(response.status);
  return { ok: false, message: words === statusText ? statusText : `${statusText}: ${words}` };
}

const isAccepted = ({ status }: CarrierResponse): boolean => status >= 200 && status < 300;

function sentAs(response: CarrierResponse, reader: ResponseReader, email: LoadedEmail): SendOutcome {
  const id = reader.idIn(response);
  const refused = reader.refusedIn?.(response, email) ?? [];
  return {
    kind: 'sent',
    httpStatus: response.status,
    providerMessageId: typeof id === 'string' ? id.slice(0, MAX_ID_CHARACTERS) : null,
    ...(refused.length > 0 ? { refused } : {}),
  };
}

/** The carrier rejects this account. */
export const paused = ({ status, message }: CarrierResponse, code: string): SendOutcome => ({
  kind: 'tenant_paused',
  httpStatus: status,
  code,
  message,
});

/** The carrier will never accept this email. */
export const rejected = (
  { status, message }: CarrierResponse,
  code: string,
): Extract<SendOutcome, { kind: 'rejected' }> => ({
  kind: 'rejected',
  httpStatus: status,
  code,
  message,
});

/** Interprets statuses with the same meaning everywhere; carriers handle their own first. */
export function readCommonStatus(response: CarrierResponse): SendOutcome {
  const { status, headers, message } = response;
  const code = `CARRIER_${status}`;
  if (status === 429)
    return { kind: 'rate_limited', httpStatus: status, waitMs: readWait(headers, Date.now()) };
  if (status === 408 || (status >= 300 && status < 400)) {
    return { kind: 'retry', ambiguous: false, httpStatus: status, code, message };
  }
  if (status >= 400 && status < 500) return rejected(response, code);
  return { kind: 'retry', ambiguous: true, httpStatus: status, code, message };
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

import { PrivateAddress } from '../../../foundation/net/publicLookup.js';
import { MAX_ID_CHARACTERS, networkCode } from '../exchangeOutcome.js';
import type { RefusedRecipient, SendOutcome } from '../sending.js';
import {
  concernOf,
  isQuotaUsed,
  isTemporary,
  parseReply,
  phaseOf,
  type Concern,
  type Phase,
  type RefusedReply,
  type SmtpError,
} from './smtpReply.js';
import { Deferred, type Transmission } from './smtpSession.js';

/** The attempt has timed out. */
export class Late extends Error {}

const MAX_REASON_CHARACTERS = 300;
/** The wait once an account's quota is used up: of an hour or a day, which servers don't say. */
const QUOTA_WAIT_MS = 900_000;

/** Mailboxes that don't exist, by their enhanced status codes (RFC 3463, 3.2). */
const IS_GONE = /^5\.1\.(1|2|3|6|10)$/;

/** Codes of Node.js and OpenSSL for certificates and handshakes, and the library's own. */
const IS_TLS = /^(ETLS|CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_)/;

/** What has become of an email whose recipients may take several transactions. */
export interface Progress {
  /** Replies to the transactions that the server has accepted. */
  readonly accepted: string[];
  /** Refused for good, or in the course of a transaction that was accepted. */
  readonly refused: RefusedReply[];
  /** Recipients that no transaction has been about yet. */
  rest: readonly string[];
}

/** @param mayRepeat whether those who have got the email may get it again, so that the others get it */
export function readAccepted({ accepted, refused }: Progress, mayRepeat: boolean): SendOutcome {
  const deferred = refused.find(isTemporary);
  if (deferred && mayRepeat && accepted.length > 1) return repeated(readReply(deferred, []));
  const recipients = refused.map(toRefused);
  return {
    kind: 'sent',
    httpStatus: parseReply(accepted[0]).code,
    // Each server has its own wording for the id in its queue.
    providerMessageId: accepted
      .map((response) => response.replace(/^\d{3}[ -]/, ''))
      .join(', ')
      .slice(0, MAX_ID_CHARACTERS),
    ...(recipients.length > 0 ? { refused: recipients } : {}),
  };
}

/** The outcome if the server has accepted the email for some recipients, and `failure` is what happened with the rest. */
export function readPartial(failure: SendOutcome, progress: Progress, mayRepeat: boolean): SendOutcome {
  if (failure.kind !== 'rejected' && mayRepeat) return repeated(failure);
  const known = failure.kind === 'rejected' ? (failure.refused ?? []) : [];
  const reason = wordsAbout(failure).message;
  const others = progress.rest
    .filter((address) => known.every((refused) => refused.address !== address))
    .map((address) => ({ address, reason, status: null, isGone: false }));
  const sent = readAccepted(progress, false);
  const refused = 'refused' in sent ? (sent.refused ?? []) : [];
  return { ...sent, refused: [...refused, ...known, ...others] } as SendOutcome;
}

const TOO_LATE = 'the worker was too busy to send the email within its lease';

function wordsAbout(failure: SendOutcome): { code: string; message: string; httpStatus: number | null } {
  if ('message' in failure) return failure;
  return failure.kind === 'rate_limited'
    ? { code: `SMTP_${failure.httpStatus}`, message: QUOTA_USED, httpStatus: failure.httpStatus }
    : { code: 'TOO_BUSY', message: TOO_LATE, httpStatus: null };
}

const QUOTA_USED = "the account's quota is used up";

/** The next attempt sends to all again. */
function repeated(failure: SendOutcome): SendOutcome {
  const { code, message, httpStatus } = wordsAbout(failure);
  const fate = 'the server has taken the email for some recipients, who get it again';
  return { kind: 'retry', ambiguous: true, httpStatus, code, message: `${message}; ${fate}` };
}

/**
 * Interprets why an email was not accepted. Before the final dot, a server has accepted nothing (RFC 5321, 4.1.1.4);
 * afterwards, only its reply tells.
 * @param to the recipients of the transaction
 */
export function readFailure(
  error: unknown,
  { fenced, dotMayHaveLeft, isFull }: Transmission,
  to: readonly string[] = [],
): SendOutcome {
  if (fenced) return { kind: 'fenced' };
  if (error instanceof PrivateAddress) {
    return paused(null, 'SMTP_HOST_REFUSED', "the server's name leads into a private network");
  }
  const smtp = (error instanceof Deferred ? error.reply : error) as SmtpError;
  const { code: reply } = parseReply(smtp.response);
  // Instead of a reply to each recipient that is one too many, a server may refuse the email (RFC 5321, 4.5.3.1.10).
  if (reply === 503 && isFull) return rejected(reply, 'TOO_MANY_RECIPIENTS', wordsOf(smtp.response));
  if (reply !== null) return readReply(smtp, to);
  if (smtp.code === 'EMESSAGE' && smtp.command === 'MAIL FROM') {
    return rejected(null, 'EMAIL_TOO_LARGE', 'the server takes no email of this size');
  }
  const fate = dotMayHaveLeft ? 'the email may have been accepted' : 'the email did not leave';
  const cause = networkCode({ code: smtp.originalCode ?? smtp.code });
  const [code, what] =
    error instanceof Late
      ? ['CARRIER_TIMEOUT', 'the server did not respond in time']
      : [IS_TLS.test(cause) ? 'SMTP_TLS_FAILED' : cause, `the connection broke (${cause})`];
  return { kind: 'retry', ambiguous: dotMayHaveLeft, httpStatus: null, code, message: `${what}; ${fate}` };
}

function readReply(error: SmtpError, to: readonly string[]): SendOutcome {
  const { rejectedErrors = [] } = error;
  // Of several recipients that are all refused, one that is refused for now decides.
  const decisive = rejectedErrors.find(isTemporary) ?? error;
  const { code: reply, status } = parseReply(decisive.response);
  const message = wordsOf(decisive.response);
  if (reply !== null && isQuotaUsed(decisive))
    return { kind: 'rate_limited', httpStatus: reply, waitMs: QUOTA_WAIT_MS };
  if (reply === null || isTemporary(decisive)) {
    return { kind: 'retry', ambiguous: false, httpStatus: reply, code: `SMTP_${reply}`, message };
  }
  const phase = phaseOf(error);
  const concerns = new Set([decisive, ...rejectedErrors].map((each) => concernIn(phase, each)));
  const concern = concerns.size === 1 ? concernOf(phase, reply, status) : 'recipient';
  if (concern === 'login') return paused(reply, 'SMTP_LOGIN_REFUSED', message);
  if (phase === 'connection') return paused(reply, 'SMTP_CONNECTION_REFUSED', message);
  const refused = phase === 'recipient' ? rejectedErrors.map(toRefused) : undefined;
  if (concern !== 'recipient')
    return rejected(reply, CODES[concern ?? 'none'] ?? `SMTP_${reply}`, message, refused);
  // A reply to the message doesn't say which of several recipients it is about.
  const all = to.map((recipient) => ({
    ...toRefused({ ...error, recipient }),
    ...(to.length > 1 ? { isGone: false } : {}),
  }));
  return rejected(reply, 'RECIPIENT_REFUSED', message, refused ?? all);
}

const CODES: Readonly<Record<string, string>> = {
  sender: 'SENDER_REFUSED',
  size: 'EMAIL_TOO_LARGE',
  characters: 'ADDRESS_NOT_ASCII',
  tooMany: 'TOO_MANY_RECIPIENTS',
};

function concernIn(phase: Phase, { response }: SmtpError): Concern {
  const { code, status } = parseReply(response);
  return concernOf(phase, code ?? 0, status);
}

function rejected(
  httpStatus: number | null,
  code: string,
  message: string,
  refused?: readonly RefusedRecipient[],
): SendOutcome {
  return { kind: 'rejected', httpStatus, code, message, ...(refused ? { refused } : {}) };
}

function toRefused({ recipient = '', response }: RefusedReply): RefusedRecipient {
  const { status } = parseReply(response);
  return {
    address: recipient,
    reason: wordsOf(response),
    status,
    isGone: status !== null && IS_GONE.test(status),
  };
}

function paused(httpStatus: number | null, code: string, message: string): SendOutcome {
  return { kind: 'tenant_paused', httpStatus, code, message };
}

function wordsOf(response = ''): string {
  const text = response.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON_CHARACTERS);
  return `the server responded: ${text}`;
}

import { ownValue } from '../../../foundation/ownValue.js';

/** An error of SMTPConnection. */
export interface SmtpError extends Error {
  readonly code?: string;
  readonly originalCode?: string;
  /** The command that failed. */
  readonly command?: string;
  /** The server's reply, with its code. */
  readonly response?: string;
  readonly responseCode?: number;
  readonly rejectedErrors?: readonly RefusedReply[];
}

/** An error about one recipient. */
export type RefusedReply = SmtpError & { readonly recipient?: string };

/** What a command was about. */
export type Phase = 'connection' | 'login' | 'sender' | 'recipient' | 'message';

/** What a permanent rejection is about; undefined if the reply alone tells. */
export type Concern = 'login' | 'sender' | 'recipient' | 'size' | 'characters' | 'tooMany' | undefined;

/** Replies about the login, whatever the command (RFC 4954, 6). */
const LOGIN_CODES: ReadonlySet<number> = new Set([530, 534, 535, 538]);

/**
 * Enhanced status codes (RFC 3463, with the registry of IANA) that say what is wrong whichever command they reply to; without their class,
 * which is that of the reply.
 */
const BY_DETAIL: Readonly<Record<string, Concern>> = {
  '1.7': 'sender', // bad syntax of the sender's address
  '1.8': 'sender', // its domain does not exist
  '7.27': 'sender', // its domain takes no email
  '2.252': 'sender', // the account may not send as it (Exchange)
  '7.60': 'sender', // the same
  '2.3': 'size', // more than the mailbox takes
  '3.4': 'size', // more than the system takes
  '5.3': 'tooMany', // recipients
  '6.7': 'characters', // in an address, beyond ASCII
};
/** Addresses (X.1.*) and mailboxes (X.2.*): of the sender in reply to the sender, otherwise of a recipient. */
const IS_OF_MAILBOX = /^[12]\./;

/**
 * How servers say that the account has sent as much as it may in an hour or a day. Most do so with a permanent code, and without an
 * enhanced one of that meaning; but no quota of a mailbox, and no size, is called that.
 */
const QUOTAS: readonly RegExp[] = [
  /\b(?:sending|send|relay|submission) ?(?:limit|quota).{0,80}(?:exceeded|reached)/i,
  /\b(?:exceeded|reached)\b.{0,60}\b(?:sending|send|relay|outgoing|outgoing email|hour|hourly|daily) (?:limit|quota)/i,
  /\bexceeded\b.{0,60}\b(?:emails|messages|failures) per (?:hour|day)\b/i,
  /\bexceeded your (?:[\w-]+ )?quota\b/i,
  /\b(?:(?:emails|messages) per (?:hour|day)|allowed outgoing messages|(?:hourly|daily) (?:limit|quota)|daily (?:message|email) quota)\b.{0,20}\bexceeded/i,
  /\bsending too many emails\b|\bnot allowed to send: .{0,40}\blimit exceeded\b|\blimit of \d+ rcpts per \d+ hours?\b.{0,80}\breached/i,
];
const MAX_QUOTA_CHARACTERS = 2_000;

/** Whether the account may send no more for now, whatever the code says. */
export function isQuotaUsed({ response = '' }: SmtpError): boolean {
  const text = response.slice(0, MAX_QUOTA_CHARACTERS).replace(/\r?\n\d{3}[ -](?:\d\.\d+\.\d+ )?|\s+/g, ' ');
  return QUOTAS.some((quota) => quota.test(text));
}

/** A reply's code, and its enhanced status code, if there are any: another text says nothing about the email. */
export function parseReply(response = ''): { readonly code: number | null; readonly status: string | null } {
  const [, code, status = null] =
    /^([245]\d\d)(?:[ -]([245]\.\d{1,3}\.\d{1,3})(?!\S)|[ -]|$)/.exec(response) ?? [];
  return { code: code === undefined ? null : Number(code), status };
}

export function phaseOf({ command = '' }: SmtpError): Phase {
  if (command.startsWith('AUTH')) return 'login';
  if (command === 'MAIL FROM') return 'sender';
  if (command === 'RCPT TO') return 'recipient';
  return command === 'DATA' ? 'message' : 'connection';
}

export function concernOf(phase: Phase, code: number, status: string | null): Concern {
  if (phase === 'login' || LOGIN_CODES.has(code)) return 'login';
  const detail = status?.slice(2);
  if (detail === undefined) {
    // RFC 5321 has 552 for storage. In reply to the sender, it is about the announced size (RFC 1870, 6.1).
    if (code === 552) return phase === 'recipient' ? 'recipient' : 'size';
    return code === 523 ? 'size' : ofPhase(phase);
  }
  const known = ownValue(BY_DETAIL, detail);
  if (known) return known;
  if (IS_OF_MAILBOX.test(detail)) return phase === 'sender' ? 'sender' : 'recipient';
  return ofPhase(phase);
}

const ofPhase = (phase: Phase): Concern => (phase === 'sender' || phase === 'recipient' ? phase : undefined);

/**
 * The recipients for whom the transaction had no room: a server that takes only so many replies 452 to the others, or 552, and takes them
 * in another one (RFC 5321, 4.5.3.1.10). Without an enhanced code, these mean a full mailbox too, unless all that follow are refused as well.
 * @param refused in the order of the recipients
 */
export function surplusOf(to: readonly string[], refused: readonly RefusedReply[]): readonly RefusedReply[] {
  if (refused.length >= to.length) return [];
  const places = refused.map(({ recipient = '' }) => to.indexOf(recipient));
  return refused.filter(({ response }, index) => {
    const { code, status } = parseReply(response);
    if (status !== null) return status.slice(2) === '5.3';
    if (code !== 452 && code !== 552) return false;
    return to.length - (places[index] ?? 0) === refused.length - index;
  });
}

/** Whether another attempt may do better: in reply to RCPT, 552 with X.5.3 is one of the temporary codes (RFC 5321, 4.5.3.1.10). */
export function isTemporary(error: SmtpError): boolean {
  const { code, status } = parseReply(error.response);
  if (code === null) return false;
  return (
    code < 500 ||
    isQuotaUsed(error) ||
    (phaseOf(error) === 'recipient' && code === 552 && status?.slice(2) === '5.3')
  );
}

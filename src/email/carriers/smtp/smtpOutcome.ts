import { PrivateAddress } from '../../../foundation/net/publicLookup.js';
import { MAX_ID_CHARACTERS, networkCode } from '../exchangeOutcome.js';
import type { RefusedRecipient, SendOutcome } from '../sending.js';
import { Deferred, type Accepted, type SmtpError, type Transmission } from './smtpSession.js';

/** The attempt has timed out. */
export class Late extends Error {}

const MAX_REASON_CHARACTERS = 300;

/** Mailboxes that don't exist, by their enhanced status codes (RFC 3463, 3.2). */
const IS_GONE = /^5\.1\.(1|2|3|6|10)$/;

/** Codes of Node.js and OpenSSL for certificates and handshakes, and the library's own. */
const IS_TLS = /^(ETLS|CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_|DEPTH_ZERO_|HOSTNAME_)/;

export function readAccepted({ response, refused }: Accepted): SendOutcome {
  const recipients = refused.map(toRefused);
  return {
    kind: 'sent',
    httpStatus: replyCode(response),
    // Each server has its own wording for the id in its queue.
    providerMessageId: response.replace(/^\d{3}[ -]/, '').slice(0, MAX_ID_CHARACTERS),
    ...(recipients.length > 0 ? { refused: recipients } : {}),
  };
}

/**
 * Interprets why an email was not accepted. Before the final dot, a server has accepted nothing (RFC 5321, 4.1.1.4);
 * afterwards, only its reply tells.
 */
export function readFailure(error: unknown, { fenced, dotMayHaveLeft }: Transmission): SendOutcome {
  if (fenced) return { kind: 'fenced' };
  if (error instanceof PrivateAddress) {
    return paused(null, 'SMTP_HOST_REFUSED', "the server's name leads into a private network");
  }
  const smtp = (error instanceof Deferred ? error.reply : error) as SmtpError;
  const reply = smtp.response === undefined ? null : replyCode(smtp.response);
  if (reply !== null) return readReply(smtp, reply);
  if (smtp.code === 'EMESSAGE' && smtp.command === 'MAIL FROM') {
    return {
      kind: 'rejected',
      httpStatus: null,
      code: 'EMAIL_TOO_LARGE',
      message: 'the server takes no email of this size',
    };
  }
  const fate = dotMayHaveLeft ? 'the email may have been accepted' : 'the email did not leave';
  const cause = networkCode({ code: smtp.originalCode ?? smtp.code });
  const [code, what] =
    error instanceof Late
      ? ['CARRIER_TIMEOUT', 'the server did not respond in time']
      : [IS_TLS.test(cause) ? 'SMTP_TLS_FAILED' : cause, `the connection broke (${cause})`];
  return { kind: 'retry', ambiguous: dotMayHaveLeft, httpStatus: null, code, message: `${what}; ${fate}` };
}

function readReply(error: SmtpError, reply: number): SendOutcome {
  const { command = '', response = '' } = error;
  const message = wordsOf(response);
  const isPermanent = reply >= 500;
  if (!isPermanent) {
    return { kind: 'retry', ambiguous: false, httpStatus: reply, code: `SMTP_${reply}`, message };
  }
  if (command.startsWith('AUTH') || reply === 530 || reply === 535) {
    return paused(reply, 'SMTP_LOGIN_REFUSED', message);
  }
  if (command === 'CONN' || command === 'EHLO' || command === 'HELO' || command === 'STARTTLS') {
    return paused(reply, 'SMTP_CONNECTION_REFUSED', message);
  }
  const rejected = { kind: 'rejected', httpStatus: reply, message } as const;
  if (reply === 552) return { ...rejected, code: 'EMAIL_TOO_LARGE' };
  if (command === 'MAIL FROM') return { ...rejected, code: 'SENDER_REFUSED' };
  if (command === 'RCPT TO') {
    return { ...rejected, code: 'RECIPIENT_REFUSED', refused: (error.rejectedErrors ?? []).map(toRefused) };
  }
  return { ...rejected, code: `SMTP_${reply}` };
}

function toRefused({ recipient = '', response = '' }: Accepted['refused'][number]): RefusedRecipient {
  const status = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(response)?.[1] ?? null;
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

/** Null unless the text begins like a reply: anything else says nothing about the email. */
function replyCode(response: string): number | null {
  const code = /^([245]\d\d)(?:[ -]|$)/.exec(response)?.[1];
  return code === undefined ? null : Number(code);
}

function wordsOf(response: string): string {
  const text = response.replace(/\s+/g, ' ').trim().slice(0, MAX_REASON_CHARACTERS);
  return `the server responded: ${text}`;
}

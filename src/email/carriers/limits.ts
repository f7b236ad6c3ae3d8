import { bytesOf } from '../message/emailSize.js';
import type { EmailMessage, SendOutcome } from './sending.js';

/** A carrier's limits on one email. */
export interface EmailLimits {
  /** All three lists together. */
  readonly maxRecipients: number;
  /** Attachments included. */
  readonly maxBytes: number;
  /** Whether characters beyond ASCII are allowed before the @. Domains are ASCII already, as punycode. */
  readonly allowsUtf8Addresses: boolean;
  /** Whether attachments may have no bytes. */
  readonly allowsEmptyFiles: boolean;
  /** By default as many as an email type may have. */
  readonly maxReplyTo?: number;
  /** Whether attachments may be shown within the HTML; by default they may. */
  readonly allowsInlineFiles?: boolean;
}

const IS_ASCII = /^[ -~]*$/;

/** @returns why the carrier can't accept the email, if so */
export function exceedsLimits(message: EmailMessage, limits: EmailLimits): SendOutcome | undefined {
  const recipients = message.recipients.length + message.cc.length + message.bcc.length;
  if (recipients > limits.maxRecipients) {
    return rejected(
      'TOO_MANY_RECIPIENTS',
      `${recipients} recipients; the carrier takes ${limits.maxRecipients}`,
    );
  }
  const { sender, replyTo = [] } = message;
  const foreign = [sender, ...replyTo, ...message.recipients, ...message.cc, ...message.bcc].find(
    ({ email }) => !limits.allowsUtf8Addresses && !IS_ASCII.test(email),
  );
  if (foreign) {
    const what = `"${foreign.email}" has characters beyond ASCII before the @, which the carrier does not take`;
    return rejected('ADDRESS_NOT_ASCII', what);
  }
  const empty = message.attachments?.find(({ size }) => !limits.allowsEmptyFiles && size === 0);
  if (empty) {
    return rejected('ATTACHMENT_EMPTY', `"${empty.filename}" is empty, and the carrier takes no empty files`);
  }
  const { maxReplyTo = Infinity, allowsInlineFiles = true } = limits;
  if (replyTo.length > maxReplyTo) {
    const what = `${replyTo.length} reply-to addresses; the carrier takes ${maxReplyTo}`;
    return rejected('EMAIL_NOT_SUPPORTED', what);
  }
  const inline = message.attachments?.find(({ contentId }) => contentId !== undefined);
  if (inline && !allowsInlineFiles) {
    const what = `"${inline.filename}" is shown within the email, which the carrier does not support`;
    return rejected('EMAIL_NOT_SUPPORTED', what);
  }
  const bytes = bytesOf(message);
  if (bytes > limits.maxBytes) {
    return rejected('EMAIL_TOO_LARGE', `the email has ${bytes} bytes; the carrier takes ${limits.maxBytes}`);
  }
  return undefined;
}

function rejected(code: string, message: string): SendOutcome {
  return { kind: 'rejected', httpStatus: null, code, message };
}

/** Maximum length of a header value: a line of an email (RFC 5322, 2.1.1). */
export const MAX_HEADER_CHARACTERS = 998;

const ALLOWED = new Set([
  'auto-submitted',
  'comments',
  'feedback-id',
  'importance',
  'in-reply-to',
  'keywords',
  'list-archive',
  'list-help',
  'list-id',
  'list-owner',
  'list-post',
  'list-subscribe',
  'organization',
  'precedence',
  'priority',
  'references',
  'sensitivity',
]);

/** Headers that instruct the carrier. */
const CARRIER_ORDERS = /^x-(smtpapi|sg|sendgrid|ses|mailgun|mj|mailjet|pm|postmark|resend|msys|mc)(-|$)/;

/**
 * Whether an email type may set a header. All others are reserved for sending the email: addresses, date and identity,
 * encoding, signatures and routing, and how to unsubscribe.
 */
export function mayBeSet(name: string): boolean {
  const known = name.toLowerCase();
  return ALLOWED.has(known) || (/^x-[a-z0-9-]{1,60}$/.test(known) && !CARRIER_ORDERS.test(known));
}

/** Whether a header holds ids or URLs, which receivers don't decode. */
export function holdsAddresses(name: string): boolean {
  return /^(message-id|in-reply-to|references|list-[a-z-]+)$/i.test(name);
}

/** For an error's hint. */
export const ALLOWED_HEADERS =
  'X-…, Auto-Submitted, Comments, Feedback-ID, Importance, In-Reply-To, Keywords, List-Archive, List-Help, List-ID, ' +
  'List-Owner, List-Post, List-Subscribe, Organization, Precedence, Priority, References, Sensitivity';

import { CARRIERS } from './carriers/allCarriers.js';

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

/**
 * Whether an email type may set a header. All others are reserved for sending the email: addresses, date and identity,
 * encoding, signatures and routing, and how to unsubscribe.
 */
export function mayBeSet(name: string): boolean {
  const known = name.toLowerCase();
  return ALLOWED.has(known) || (/^x-[a-z0-9-]{1,60}$/.test(known) && !instructsCarrier(known));
}

function instructsCarrier(name: string): boolean {
  return CARRIERS.flatMap(({ kind, headerPrefixes = [kind] }) => headerPrefixes).some((prefix) =>
    `${name}-`.startsWith(`x-${prefix}-`),
  );
}

/** For an error's hint. */
export const ALLOWED_HEADERS =
  'X-…, Auto-Submitted, Comments, Feedback-ID, Importance, In-Reply-To, Keywords, List-Archive, List-Help, List-ID, ' +
  'List-Owner, List-Post, List-Subscribe, Organization, Precedence, Priority, References, Sensitivity';

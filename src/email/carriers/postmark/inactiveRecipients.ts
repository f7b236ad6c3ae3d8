import { comparable } from '../../addresses.js';
import type { LoadedEmail } from '../carrier.js';
import type { RefusedRecipient } from '../sending.js';

/** Longer than any that is sent to. */
const MAX_ADDRESS_CHARACTERS = 320;
/** After "will not deliver to these inactive addresses:" or "Found inactive addresses:". */
const LIST = /inactive addresses:(.*)/is;

/**
 * The recipients that Postmark's message lists as inactive, which nothing else reports: no webhook follows. It lists addresses in
 * lower case, without names, and may explain them afterwards.
 */
export function listedAsInactive(
  message: string,
  { recipients, cc, bcc }: LoadedEmail,
): readonly RefusedRecipient[] {
  const listed = (LIST.exec(message)?.[1] ?? '')
    .split(/[\s,;<>]+/)
    .map((word) => word.replace(/\.$/, ''))
    .filter((word) => word.includes('@') && word.length <= MAX_ADDRESS_CHARACTERS);
  const written = new Map([...recipients, ...cc, ...bcc].map(({ email }) => [comparable(email), email]));
  // As many as the email has: each becomes an event, and a response has room for tens of thousands.
  const inactive = [...new Set(listed.map(comparable))].slice(0, written.size);
  return inactive.map((address) => toInactive(written.get(address) ?? address));
}

export function toInactive(address: string): RefusedRecipient {
  const reason =
    'Postmark sends nothing to this address: it is inactive there, after a hard bounce, a spam complaint or a manual suppression';
  return { address, reason, status: null, isGone: false };
}

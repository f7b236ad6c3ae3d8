import { ERROR_CODES } from '../../foundation/errors.js';
import { DELIVERY_ERRORS } from './deliveryErrorTable.js';

/** Why an email did not arrive, and what to do about it. */
export interface Cause {
  readonly title: string;
  readonly why: string;
  /** For the author of the rule and the email type. */
  readonly whatToDo: string;
}

/** As sentences. The page shows the message next to them. */
const plain = (markdown: string): string => {
  const text = markdown.replaceAll('`error`', 'the message').replaceAll('`', '');
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
};

const BY_CODE: ReadonlyMap<string, Cause> = new Map(
  DELIVERY_ERRORS.flatMap(({ codes, title, why, whatToDo }) =>
    [...codes.matchAll(/`([A-Z][A-Z_0-9]+)`/g)].map(
      ([, code = '']) => [code, { title, why: plain(why), whatToDo: plain(whatToDo) }] as const,
    ),
  ),
);

/** Every code has an entry: other codes are further errors of queries, of the carrier, or of the connection to it. */
export function deliveryError(code: string): Cause {
  const known = BY_CODE.get(code) ?? BY_CODE.get(rowFor(code));
  if (!known) throw new Error('the table lacks a row');
  return known;
}

function rowFor(code: string): string {
  if (/^SMTP_4\d\d$/.test(code)) return 'SMTP_451';
  if (/^SMTP_5\d\d$/.test(code)) return 'SMTP_554';
  if (/^CARRIER_4\d\d$/.test(code)) return 'CARRIER_400';
  // Node.js names broken connections in many ways: ECONNRESET, UNABLE_TO_VERIFY_LEAF_SIGNATURE.
  return Object.hasOwn(ERROR_CODES, code) ? 'GRAPHQL_VALIDATION' : 'NETWORK_ERROR';
}

/** By status: what carriers report of emails that they had accepted. */
export const REPORTED: Readonly<Record<string, Cause>> = {
  bounced: {
    title: 'Bounced',
    why: 'The receiving server did not take the email, or the carrier dropped it.',
    whatToDo:
      'Ask the recipient for another address. One that bounced for good is suppressed from now on. Carriers close accounts of which more than a few percent bounce.',
  },
  complained: {
    title: 'Reported as spam',
    why: 'The recipient reported the email as spam.',
    whatToDo:
      'Send only what people asked for, with a link to unsubscribe. The address is suppressed from now on. Carriers close accounts with more than one complaint in a thousand emails.',
  },
};

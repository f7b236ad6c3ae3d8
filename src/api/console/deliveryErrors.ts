import { DELIVERY_ERRORS } from './deliveryErrorTable.js';

/** What to do about an error code of a delivery. */
export interface DeliveryError {
  readonly why: string;
  /** For the author of the rule and the email type. */
  readonly whatToDo: string;
}

const plain = (markdown: string): string => markdown.replaceAll('`', '');

const BY_CODE: ReadonlyMap<string, DeliveryError> = new Map(
  DELIVERY_ERRORS.flatMap(({ codes, why, whatToDo }) =>
    [...codes.matchAll(/`([A-Z][A-Z_0-9]+)`/g)].map(
      ([, code = '']) => [code, { why: plain(why), whatToDo: plain(whatToDo) }] as const,
    ),
  ),
);

/** Every code has an entry: other codes are further errors of queries, of the carrier, or of the connection to it. */
export function deliveryError(code: string): DeliveryError {
  const known = BY_CODE.get(code) ?? BY_CODE.get(rowFor(code));
  if (!known) throw new Error('the table lacks a row');
  return known;
}

function rowFor(code: string): string {
  if (/^SMTP_4\d\d$/.test(code)) return 'SMTP_451';
  if (/^SMTP_5\d\d$/.test(code)) return 'SMTP_554';
  if (/^CARRIER_4\d\d$/.test(code)) return 'CARRIER_400';
  if (/^(CARRIER_5\d\d$|E[A-Z]+$)/.test(code)) return 'NETWORK_ERROR';
  return 'GRAPHQL_VALIDATION';
}

import { identifier, statement } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { comparable, parseAddresses, parseOneAddress } from '../../email/addresses.js';
import { toPostgresText } from '../../foundation/postgresText.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import type { Key } from '../derive/declaration.js';

const MAX_REASON_CHARACTERS = 1_000;

/** Throws AppError BAD_USER_INPUT. @returns the address in lower case. */
export function readSuppressedAddress(text: string): string {
  const address = parseOneAddress(text);
  if (!address) throw badInput('address', 'address is not one address.');
  return comparable(address.email);
}

/** Throws AppError BAD_USER_INPUT. */
export function readReason(text: string): string {
  const reason = toPostgresText(text);
  if (reason.length <= MAX_REASON_CHARACTERS) return reason;
  throw badInput('reason', `reason is longer than ${MAX_REASON_CHARACTERS} characters.`);
}

/** Adds an address to the list. A removed entry is kept for a while and restored. Throws AppError UNIQUE_VIOLATION. */
export async function suppress(
  { db, principal }: ControlContext,
  { address, reason }: { readonly address: string; readonly reason: string | null },
): Promise<Key> {
  const { rows } = await db.query(
    `insert into rowpost.email_suppression as s (tenantid, address, reason, creatorid, source)
     values ($1, $2, $3, $4, 'manual')
     on conflict (tenantid, address) do update
     set reason = excluded.reason, creatorid = excluded.creatorid, source = 'manual', deliveryid = null,
       createtime = now(), removetime = null
     where s.removetime is not null
     returning 1`,
    [principal.tenantid, address, reason, principal.roleid],
  );
  if (rows.length > 0) return { address };
  throw new AppError('UNIQUE_VIOLATION', `${address} is already suppressed.`, {
    hint: 'It is in the list email_suppression, with the reason.',
    details: { field: 'address' },
  });
}

/** The address as listed: as given, or in the normalized form in which it would have been added. */
export async function listedIn(
  table: 'email_suppression' | 'email_unsubscribe',
  { db, principal }: ControlContext,
  { address: text = '' }: Readonly<Record<string, string>>,
): Promise<Key> {
  const address = comparable(text);
  const { rows } = await db.query(
    statement`select from ${identifier('rowpost', table)} where tenantid = $1 and address = $2`,
    [principal.tenantid, address],
  );
  if (rows.length > 0) return { address };
  const { valid } = parseAddresses(text);
  return { address: valid.length === 1 && valid[0] ? comparable(valid[0].email) : address };
}

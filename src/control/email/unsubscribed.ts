import type { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import type { Key } from '../derive/declaration.js';
import { readPlainName } from './emailTypeParts.js';

const MAX_EMAIL_TYPES = 1_000;

/** The email types need not exist any more. Throws AppError BAD_USER_INPUT. */
export function readEmailTypeNames(names: readonly (string | null)[], field: string): readonly string[] {
  if (names.length > MAX_EMAIL_TYPES) throw tooMany(field);
  return [...new Set(names.map((name, index) => readPlainName(name ?? '', `${field}[${index}]`)))];
}

/** Of an address: those that it has unsubscribed from are compared for each email to it. */
function tooMany(field: string): AppError {
  return badInput(field, `${field} has more than ${MAX_EMAIL_TYPES} names.`);
}

interface Unsubscribed {
  readonly address: string;
  readonly email_types: readonly string[];
  readonly all_types: boolean;
}

/** Adds to the email types that the address has unsubscribed from. Throws AppError BAD_USER_INPUT. */
export async function importUnsubscribed(
  { db, principal }: ControlContext,
  { address, email_types, all_types }: Unsubscribed,
): Promise<Key> {
  if (!all_types && email_types.length === 0)
    throw badInput('email_types', 'Name email types, or set all_types.');
  const { rows } = await db.query<{ types: number }>(
    `insert into rowpost.email_unsubscribe as u (tenantid, address, email_types, all_types, source, creatorid)
     values ($1, $2, $3, $4, 'manual', $5)
     on conflict (tenantid, address) do update
     set email_types = array(select distinct unnest(u.email_types || excluded.email_types)),
       all_types = u.all_types or excluded.all_types
     returning cardinality(u.email_types) as types`,
    [principal.tenantid, address, email_types, all_types, principal.roleid],
  );
  if (rows[0] && rows[0].types > MAX_EMAIL_TYPES) throw tooMany('email_types');
  return { address };
}

/** Called when an email type was renamed. */
export async function renameUnsubscribed(
  { db, principal }: ControlContext,
  before: string,
  name: string,
): Promise<void> {
  await db.query(
    `update rowpost.email_unsubscribe set email_types = array_replace(email_types, $2, $3)
     where tenantid = $1 and $2 = any (email_types)`,
    [principal.tenantid, before, name],
  );
}

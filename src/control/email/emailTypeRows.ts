import type { ControlDb } from '../../db/database.js';
import { AppError } from '../../errors.js';
import { orNameTaken } from '../object/nameTaken.js';
import { sqlState } from '../../db/sqlState.js';
import { readRow, readRows } from '../object/storedRows.js';

/** A list of templates, or one string that renders to a JSON list. */
export type Addresses = string | readonly string[];

export interface EmailQuery {
  readonly query: string;
  readonly filter: string | null;
  readonly ordering: readonly string[] | null;
  readonly limit: number | null;
  readonly offset: number | null;
  readonly outvar: string;
}

export interface EmailOptions {
  readonly cc?: Addresses | null;
  readonly bcc?: Addresses | null;
}

export interface EmailTypeValues {
  readonly email_type: string;
  readonly template: string;
  readonly subject: string;
  readonly recipients: Addresses;
  readonly sender: string;
  readonly queries: readonly EmailQuery[];
  readonly options: EmailOptions;
  readonly attachments: readonly string[];
  readonly syntax: 'jinja2' | 'liquid';
}

export interface EmailTypeRow extends EmailTypeValues {
  readonly creatorid: number | null;
  readonly createtime: string;
}

const FOREIGN_KEY_VIOLATION = '23503';
const COLUMNS =
  'email_type, template, subject, recipients, sender, queries, options, attachments, syntax, creatorid, createtime';

/** Throws AppError NAME_TAKEN. */
export async function insertEmailType(
  knex: ControlDb,
  tenantid: number,
  creatorid: number,
  values: EmailTypeValues,
): Promise<void> {
  await orNameTaken(
    knex('rowpost.email_types').insert({ ...toColumns(values), tenantid, creatorid }),
    ...nameTaken(values.email_type),
  );
}

/** Throws AppError NAME_TAKEN; EMAIL_TYPE_IN_USE when it is renamed while rules name it. */
export async function updateEmailType(
  knex: ControlDb,
  tenantid: number,
  emailType: string,
  changes: Partial<EmailTypeValues>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await orInUse(
    emailType,
    orNameTaken(
      knex('rowpost.email_types').where({ tenantid, email_type: emailType }).update(toColumns(changes)),
      ...nameTaken(changes.email_type ?? ''),
    ),
  );
}

/** Throws AppError EMAIL_TYPE_IN_USE while rules name it. */
export async function deleteEmailType(knex: ControlDb, tenantid: number, emailType: string): Promise<void> {
  await orInUse(emailType, knex('rowpost.email_types').where({ tenantid, email_type: emailType }).delete());
}

/** @returns undefined when the tenant has no such type. */
export function readEmailType(
  knex: ControlDb,
  tenantid: number,
  emailType: string,
): Promise<EmailTypeRow | undefined> {
  return readRow<EmailTypeRow>(knex, 'email_types', COLUMNS, { tenantid, email_type: emailType });
}

export function listEmailTypes(knex: ControlDb, tenantid: number): Promise<readonly EmailTypeRow[]> {
  return readRows<EmailTypeRow>(knex, 'email_types', COLUMNS, { tenantid });
}

function toColumns(values: Partial<EmailTypeValues>): Record<string, unknown> {
  const columns: Record<string, unknown> = { ...values };
  // A JavaScript list would go as a PostgreSQL array, and a string as JSON text; these columns are jsonb.
  for (const name of ['recipients', 'queries', 'options', 'attachments'] as const) {
    if (values[name] !== undefined) columns[name] = JSON.stringify(values[name]);
  }
  return columns;
}

async function orInUse<T>(emailType: string, write: PromiseLike<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error;
    throw new AppError('EMAIL_TYPE_IN_USE', `Email rules use the email type "${emailType}".`, {
      details: { email_type: emailType },
      cause: error,
    });
  }
}

function nameTaken(name: string): [string, { field: string }] {
  return [`Another email type of the tenant is named "${name}".`, { field: 'email_type' }];
}

import type { ControlDb } from '../../db/database.js';
import { AppError } from '../../errors.js';
import { orNameTaken } from '../object/nameTaken.js';
import { sqlState } from '../../db/sqlState.js';
import { insertRow, readRow, readRows } from '../object/storedRows.js';

export interface EmailRuleValues {
  readonly name: string;
  readonly operations: readonly string[];
  readonly targets: readonly string[];
  readonly email_type: string;
  readonly query_roleid: number;
  readonly condition: string | null;
  readonly enabled: boolean;
  readonly delivery: 'at_least_once' | 'at_most_once';
}

export interface EmailRuleRow extends EmailRuleValues {
  readonly ruleid: number;
  readonly creatorid: number | null;
  readonly createtime: string;
}

const FOREIGN_KEY_VIOLATION = '23503';
const COLUMNS = `ruleid, name, operations, targets, email_type, query_roleid, condition, enabled, delivery,
  creatorid, createtime`;

/** Throws AppError NAME_TAKEN, EMAIL_TYPE_NOT_FOUND. @returns ruleid. */
export function insertEmailRule(
  knex: ControlDb,
  tenantid: number,
  creatorid: number,
  values: EmailRuleValues,
): Promise<string> {
  return orRefused(
    values,
    insertRow<string>(knex, 'email_rule', { ...values, tenantid, creatorid }, 'ruleid'),
  );
}

/** Throws AppError NAME_TAKEN, EMAIL_TYPE_NOT_FOUND. */
export async function updateEmailRule(
  knex: ControlDb,
  tenantid: number,
  ruleid: string,
  changes: Partial<EmailRuleValues>,
): Promise<void> {
  if (Object.keys(changes).length === 0) return;
  await orRefused(changes, knex('rowpost.email_rule').where({ tenantid, ruleid }).update(changes));
}

export async function deleteEmailRule(knex: ControlDb, tenantid: number, ruleid: string): Promise<void> {
  await knex('rowpost.email_rule').where({ tenantid, ruleid }).delete();
}

/** @returns undefined when the tenant has no such rule. */
export function readEmailRule(
  knex: ControlDb,
  tenantid: number,
  ruleid: string,
): Promise<EmailRuleRow | undefined> {
  return readRow<EmailRuleRow>(knex, 'email_rule', COLUMNS, { tenantid, ruleid });
}

export function listEmailRules(knex: ControlDb, tenantid: number): Promise<readonly EmailRuleRow[]> {
  return readRows<EmailRuleRow>(knex, 'email_rule', COLUMNS, { tenantid });
}

async function orRefused<T>(values: Partial<EmailRuleValues>, write: PromiseLike<T>): Promise<T> {
  try {
    return await orNameTaken(write, `Another email rule of the tenant is named "${values.name ?? ''}".`, {
      field: 'name',
    });
  } catch (error) {
    if (sqlState(error) !== FOREIGN_KEY_VIOLATION) throw error;
    throw emailTypeNotFound(values.email_type ?? '', error);
  }
}

export function emailTypeNotFound(emailType: string, cause?: unknown): AppError {
  return new AppError('EMAIL_TYPE_NOT_FOUND', `There is no email type "${emailType}".`, {
    details: { field: 'email_type', email_type: emailType },
    cause,
  });
}

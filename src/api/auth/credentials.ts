import { AppError } from '../../errors.js';
import { readId } from '../http/readId.js';
import type { Credentials } from './signIn.js';

type Values = Readonly<Record<string, unknown>>;

/** Throws AppError BAD_REQUEST. */
export function readCredentials(values: Values): Credentials {
  return {
    tenantid: readTenantid(values),
    login: readText(values, 'login'),
    password: readText(values, 'password'),
  };
}

/** A number, or a string that holds one. Throws AppError BAD_REQUEST. */
export function readTenantid(values: Values): number {
  const tenantid = readId(values['tenantid']);
  if (tenantid !== undefined) return tenantid;
  throw new AppError('BAD_REQUEST', 'tenantid must be the number of a tenant.');
}

function readText(values: Values, name: string): string {
  const value = values[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new AppError('BAD_REQUEST', `${name} must be a string that is not empty.`);
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { ReserveBytes } from '../http/bodyBudget.js';
import { clientAddress } from '../http/clientAddress.js';
import { readFields, type Fields } from '../http/readFields.js';
import { readId } from '../http/readId.js';
import { MAX_LOGIN_LENGTH, MAX_PASSWORD_LENGTH } from '../../foundation/passwordRules.js';
import type { RouteDeps } from '../http/routeDeps.js';
import type { Credentials } from './signIn.js';

type Values = Fields['values'];

/** Enough for login, password and URL in any encoding; small, because the sender is unauthenticated. */
const MAX_SIGN_IN_BYTES = 32_768;

/** The body of a sign-in request. Throws AppError BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. */
export async function readSignIn(
  { bodies, config }: Pick<RouteDeps, 'bodies' | 'config'>,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<Values> {
  const startReservation = (): ReserveBytes => bodies.ofAnonymous(clientAddress(req, config.trustProxy), res);
  return (await readFields(req, MAX_SIGN_IN_BYTES, undefined, startReservation)).values;
}

/** Throws AppError BAD_REQUEST. */
export function readCredentials(values: Values): Credentials {
  return {
    tenantid: readTenantid(values),
    login: readText(values, 'login', MAX_LOGIN_LENGTH),
    password: readText(values, 'password', MAX_PASSWORD_LENGTH),
  };
}

/** A number or a numeric string. Throws AppError BAD_REQUEST. */
export function readTenantid(values: Values): number {
  const tenantid = readId(values['tenantid']);
  if (tenantid !== undefined) return tenantid;
  throw new AppError('BAD_REQUEST', 'tenantid must be the number of a tenant.');
}

/** The length is checked before anything is counted, looked up or hashed. Throws AppError BAD_REQUEST. */
export function readText(values: Values, name: string, maxLength: number): string {
  const value = ownValue(values, name);
  if (typeof value !== 'string' || value === '')
    throw new AppError('BAD_REQUEST', `${name} must be a string that is not empty.`);
  if (value.length > maxLength)
    throw new AppError('BAD_REQUEST', `${name} has more than ${maxLength} characters.`);
  return value;
}

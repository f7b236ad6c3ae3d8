import type { IncomingMessage } from 'node:http';
import { readFields, type Fields } from '../http/readFields.js';

/** Enough for login, password and URL in any encoding; small, because the sender is unauthenticated. */
const MAX_SIGN_IN_BYTES = 32_768;

/** The body of a sign-in request. Throws AppError BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. */
export async function readSignIn(req: IncomingMessage): Promise<Fields['values']> {
  return (await readFields(req, MAX_SIGN_IN_BYTES)).values;
}

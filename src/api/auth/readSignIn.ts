import type { IncomingMessage } from 'node:http';
import { readFields, type Fields } from '../http/readFields.js';

/** A login, a password and an address, in any encoding. Reading takes time, and whoever sends it has not signed in. */
const MAX_SIGN_IN_BYTES = 32_768;

/** The body of a request to sign in. Throws AppError BAD_REQUEST, BODY_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE. */
export async function readSignIn(req: IncomingMessage): Promise<Fields['values']> {
  return (await readFields(req, MAX_SIGN_IN_BYTES)).values;
}

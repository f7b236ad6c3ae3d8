import type { IncomingMessage } from 'node:http';
import type { EndedSession } from '../../db/roles/signIn/sessions.js';
import type { SignInEvent } from '../../db/roles/signIn/signInEvents.js';
import { clientAddress } from '../http/clientAddress.js';
import type { WebDeps } from '../http/webDeps.js';

/** The event of a session that a request has ended. */
export function signedOut(
  { config }: Pick<WebDeps, 'config'>,
  req: IncomingMessage,
  { tenantid, roleid, confid }: EndedSession,
  reason: 'console' | 'program' | 'provider',
): SignInEvent {
  const address = clientAddress(req, config.trustProxy);
  return { tenantid, kind: 'signed_out', roleid, confid: confid ?? undefined, reason, address };
}

import type { Request } from 'express';
import { INSTALLATION_TENANTID } from '../../control/tenants/installation.js';
import { AppError } from '../../foundation/errors.js';
import { isLoopback } from '../../foundation/net/networkAddress.js';
import { isForwarded } from '../http/forwarded.js';
import type { RouteDeps } from '../http/routeDeps.js';

/** The email that a user may read: all, or that of one tenant. */
export interface MailboxScope {
  readonly tenantid?: number;
}

const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Email contains what tenants write to their customers. An embedded installation, which is for evaluation, shows it to this
 * machine; elsewhere a tenant's root and admins may read their tenant's email, and the installation's root all email: browsers
 * with a session of the console, programs with a token. Throws AppError TOKEN_* when not signed in, PERMISSION_DENIED.
 */
export async function mailboxScope(
  req: Request,
  { authenticator, consoleSessions, config }: RouteDeps,
): Promise<MailboxScope> {
  // If a proxy is configured, no request counts as local, whatever its headers.
  if (config.embedded && config.trustProxy.count === 'none' && isLocal(req)) return {};
  const session = await consoleSessions.read(req);
  const { principal } = session ?? (await authenticator.authenticate(req.headers.authorization, 'access'));
  const { tenantid, isAdmin } = principal;
  if (isAdmin) return tenantid === INSTALLATION_TENANTID ? {} : { tenantid };
  throw new AppError('PERMISSION_DENIED', "Only the tenant's root role and admins may open the mailbox.");
}

/**
 * Whether this machine sent the request. A local proxy also connects from it, so forwarded requests don't count. The host
 * name is checked too, against DNS rebinding.
 */
function isLocal(req: Request): boolean {
  if (isForwarded(req)) return false;
  const { headers, socket } = req;
  const host = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(headers.host ?? '')?.[1] ?? '';
  return isLoopback(socket.remoteAddress ?? '') && LOCAL_NAMES.has(host.toLowerCase());
}

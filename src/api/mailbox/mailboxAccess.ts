import type { Request } from 'express';
import { INSTALLATION_TENANTID } from '../../control/tenants/installation.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import { isLoopback } from '../../networkAddress.js';
import type { Authenticator } from '../auth/authenticate.js';
import { readCookie } from '../http/readCookie.js';

/** The mail that a visitor may read. */
export type MailboxScope =
  { readonly kind: 'everything' } | { readonly kind: 'tenant'; readonly tenantid: number };

export const MAILBOX_COOKIE = 'rowpost_mailbox';
const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
/** Headers added by proxies and tunnels: a request with one of these came from elsewhere. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-ip|x-client-ip|x-original-.+|true-client-ip|cf-.+)$/;

export interface MailboxAccessDeps {
  readonly authenticator: Authenticator;
  /** An embedded installation is for evaluation: anyone on the machine may read. */
  readonly embedded: boolean;
  /** If a proxy is configured, no request counts as local, whatever its headers. */
  readonly trustProxy: number;
}

/**
 * Mail contains what tenants write to their customers. An embedded installation shows it to this machine; elsewhere a
 * tenant's root and admins may read their tenant's mail, and the installation's root all mail.
 * Throws AppError TOKEN_* when not signed in, PERMISSION_DENIED.
 */
export async function mailboxScope(req: Request, deps: MailboxAccessDeps): Promise<MailboxScope> {
  if (deps.embedded && deps.trustProxy === 0 && isLocal(req)) return { kind: 'everything' };
  const cookie = readCookie(req, MAILBOX_COOKIE);
  const principal =
    cookie === undefined
      ? await deps.authenticator.authenticate(req.headers.authorization, 'access')
      : await deps.authenticator.authenticateToken(cookie, 'access');
  return scopeOf(principal);
}

/** Throws AppError PERMISSION_DENIED. */
export function scopeOf(principal: Principal): MailboxScope {
  if (!principal.isAdmin) {
    throw new AppError('PERMISSION_DENIED', "Only the tenant's root role and admins may open the mailbox.");
  }
  const { tenantid } = principal;
  return tenantid === INSTALLATION_TENANTID ? { kind: 'everything' } : { kind: 'tenant', tenantid };
}

/**
 * Whether this machine sent the request. A local proxy also connects from it, so forwarded requests don't count. The host
 * name is checked too, against DNS rebinding.
 */
function isLocal({ headers, socket }: Request): boolean {
  if (Object.keys(headers).some((name) => FORWARDED.test(name))) return false;
  const host = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(headers.host ?? '')?.[1] ?? '';
  return isLoopback(socket.remoteAddress ?? '') && LOCAL_NAMES.has(host.toLowerCase());
}

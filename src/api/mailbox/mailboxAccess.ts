import type { Request } from 'express';
import { INSTALLATION_TENANTID } from '../../db/control/installation.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import type { Authenticator } from '../auth/authenticate.js';

/** Whose mail a visitor may read. */
export type MailboxScope =
  { readonly kind: 'everything' } | { readonly kind: 'tenant'; readonly tenantid: number };

export const MAILBOX_COOKIE = 'rowpost_mailbox';
const LOOPBACK = new Set(['127.0.0.1', '::1', '::ffff:127.0.0.1']);
const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);

export interface MailboxAccessDeps {
  readonly authenticator: Authenticator;
  /** An embedded installation is for trying out: whoever sits at the machine may read. */
  readonly embedded: boolean;
  /** Behind a proxy every visitor comes from this machine. */
  readonly trustProxy: number;
}

/**
 * Mail holds what tenants write to their customers. On an embedded installation it is open to this machine; elsewhere a
 * tenant's root and admins read their tenant's mail, the installation's root all of it.
 * Throws AppError TOKEN_* when nobody is signed in, PERMISSION_DENIED.
 */
export async function mailboxScope(req: Request, deps: MailboxAccessDeps): Promise<MailboxScope> {
  if (deps.embedded && deps.trustProxy === 0 && isLocal(req)) return { kind: 'everything' };
  const cookie = readCookie(req);
  const principal =
    cookie === undefined
      ? await deps.authenticator.authenticate(req.headers.authorization, 'access')
      : await deps.authenticator.authenticateToken(cookie, 'access');
  return scopeOf(principal);
}

/** Throws AppError PERMISSION_DENIED. */
export function scopeOf(principal: Principal): MailboxScope {
  if (!principal.isAdmin) {
    throw new AppError('PERMISSION_DENIED', "The mailbox is for the tenant's root and for admins.");
  }
  const { tenantid } = principal;
  return tenantid === INSTALLATION_TENANTID ? { kind: 'everything' } : { kind: 'tenant', tenantid };
}

/** A page of another site may make a browser at this machine ask, under a name that leads here: so the name is checked as well. */
function isLocal(req: Request): boolean {
  const host = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(req.headers.host ?? '')?.[1] ?? '';
  return LOOPBACK.has(req.socket.remoteAddress ?? '') && LOCAL_NAMES.has(host.toLowerCase());
}

function readCookie(req: Request): string | undefined {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === MAILBOX_COOKIE)?.[1];
}

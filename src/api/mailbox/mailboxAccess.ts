import type { Request } from 'express';
import { INSTALLATION_TENANTID } from '../../control/tenants/installation.js';
import type { Principal } from '../../db/principal.js';
import { AppError } from '../../errors.js';
import { isLoopback } from '../../networkAddress.js';
import type { Authenticator } from '../auth/authenticate.js';

/** Whose mail a visitor may read. */
export type MailboxScope =
  { readonly kind: 'everything' } | { readonly kind: 'tenant'; readonly tenantid: number };

export const MAILBOX_COOKIE = 'rowpost_mailbox';
const LOCAL_NAMES = new Set(['localhost', '127.0.0.1', '[::1]']);
/** What proxies and tunnels add: a request that carries one of these began somewhere else. */
const FORWARDED =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-ip|x-client-ip|x-original-.+|true-client-ip|cf-.+)$/;

export interface MailboxAccessDeps {
  readonly authenticator: Authenticator;
  /** An embedded installation is for trying out: whoever sits at the machine may read. */
  readonly embedded: boolean;
  /** An operator who says that there is a proxy is believed, whatever headers it sends. */
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

/**
 * Sent by this machine itself. A proxy on this machine connects from it as well, so nothing that was forwarded counts.
 * A page of another site may make a browser here ask under a name that leads here: so the name is checked too.
 */
function isLocal({ headers, socket }: Request): boolean {
  if (Object.keys(headers).some((name) => FORWARDED.test(name))) return false;
  const host = /^(\[[^\]]*\]|[^:]*)(:\d+)?$/.exec(headers.host ?? '')?.[1] ?? '';
  return isLoopback(socket.remoteAddress ?? '') && LOCAL_NAMES.has(host.toLowerCase());
}

function readCookie(req: Request): string | undefined {
  const pairs = (req.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([name]) => name === MAILBOX_COOKIE)?.[1];
}

import type { ControlContext } from '../controlContext.js';
import { requireOwnTenant } from '../permissions.js';

/** Columns that several objects have. */
export const CREATED = {
  creatorid: { type: 'int4' },
  createtime: { type: 'timestamptz', required: true },
} as const;

/** Clients may name their own tenant, and no other. */
export const OWN_TENANT = {
  type: 'int4',
  input: "The caller's own tenant.",
  read: (tenantid: number, _field: string, { principal }: ControlContext): number => {
    requireOwnTenant(principal, tenantid);
    return tenantid;
  },
  derived: true,
} as const;

/** See `isReauthenticated`. */
export const CURRENT_PASSWORD = {
  type: 'text',
  input:
    "The caller's own password, which it needs to change its own password, login or identities, or to make an API key for itself, later than ten minutes after it signed in.",
  inputOnly: true,
} as const;

import { isAnonymous, type Principal } from '../../db/roles/principal.js';

/** Whom planning time and cache space are charged to: all roles of a tenant together, or its anonymous clients. */
export interface PlanOwner {
  readonly key: string;
  readonly isAnonymous: boolean;
  /** Queries of emails wait in any number, and as long as it takes: what composes emails limits both. */
  readonly isForEmails?: true;
}

export function planOwnerOf(principal: Principal): PlanOwner {
  return isAnonymous(principal)
    ? { key: `${principal.tenantid} Nobody`, isAnonymous: true }
    : tenantPlans(principal.tenantid);
}

export function tenantPlans(tenantid: number): PlanOwner {
  return { key: String(tenantid), isAnonymous: false };
}

/** The queries of a tenant's emails, besides its callers. */
export function emailPlans(tenantid: number): PlanOwner {
  return { key: `${tenantid} emails`, isAnonymous: false, isForEmails: true };
}

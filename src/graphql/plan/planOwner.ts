import { isNobody, type Principal } from '../../db/roles/principal.js';

/** Whom planning time and cache space are charged to: all roles of a tenant together, or its anonymous visitors. */
export interface PlanOwner {
  readonly key: string;
  readonly isNobody: boolean;
}

export function planOwnerOf(principal: Principal): PlanOwner {
  return isNobody(principal)
    ? { key: `${principal.tenantid} Nobody`, isNobody: true }
    : tenantPlans(principal.tenantid);
}

export function tenantPlans(tenantid: number): PlanOwner {
  return { key: String(tenantid), isNobody: false };
}

/** The queries of a tenant's emails, besides its callers. */
export function emailPlans(tenantid: number): PlanOwner {
  return { key: `${tenantid} emails`, isNobody: false };
}

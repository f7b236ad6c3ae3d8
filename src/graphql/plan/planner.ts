import { isNobody, type Principal } from '../../db/principal.js';

/** On whose behalf documents are planned: a tenant's roles together, or its anonymous visitors. */
export interface Planner {
  readonly key: string;
  readonly isNobody: boolean;
}

export function plannerOf(principal: Principal): Planner {
  return isNobody(principal)
    ? { key: `${principal.tenantid} Nobody`, isNobody: true }
    : rolesOf(principal.tenantid);
}

export function rolesOf(tenantid: number): Planner {
  return { key: String(tenantid), isNobody: false };
}

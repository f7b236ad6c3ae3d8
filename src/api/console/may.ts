import { holds } from '../../control/permissions.js';
import type { Principal } from '../../db/roles/principal.js';

/** What a role may do short of administering its tenant: pages don't offer what would be rejected. */
export interface May {
  readonly viewDeliveries: boolean;
  readonly repairDeliveries: boolean;
  readonly editEmails: boolean;
  readonly editRoles: boolean;
  /** Some capability about classes. */
  readonly seeClasses: boolean;
}

export function mayOf(principal: Principal): May {
  // The installation has neither tables nor email.
  const hasEmail = principal.schema !== null;
  const viewDeliveries = hasEmail && holds(principal, 'view_delivery');
  return {
    viewDeliveries,
    repairDeliveries: viewDeliveries && holds(principal, 'repair_delivery'),
    editEmails: hasEmail && holds(principal, 'edit_email'),
    editRoles: hasEmail && principal.isAdmin,
    seeClasses:
      hasEmail &&
      ['view_class', 'create_class', 'update_class', 'delete_class'].some((name) => holds(principal, name)),
  };
}

import type { OpenShop, Speciality } from '../rig/shop.js';
import type { Rig } from '../rig/rig.js';

/** One tenant in trouble, by its provider account or by its own templates, while the others send on. */
export interface TenantFault {
  readonly name: string;
  readonly what: string;
  readonly special: Speciality;
  /** Whether a mail may be taken without an answer, so that it may be sent again. */
  readonly losesAnswers?: true;
  /** Begins before the tenant's orders are placed. */
  begin?(rig: Rig, shop: OpenShop): Promise<void>;
  /** Puts the tenant's affairs in order again. */
  end?(rig: Rig, shop: OpenShop): Promise<void>;
}

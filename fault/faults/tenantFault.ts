import type { OpenShop, Speciality } from '../rig/shop.js';
import type { Rig } from '../rig/rig.js';

/** A fault of one tenant, in its carrier account or its templates, while the others keep sending. */
export interface TenantFault {
  readonly name: string;
  readonly what: string;
  readonly special: Speciality;
  /** Whether an email may be accepted without a response, so that it may be sent again. */
  readonly losesResponses?: true;
  /** Starts before the tenant's orders are placed. */
  begin?(rig: Rig, shop: OpenShop): Promise<void>;
  /** Ends the fault. */
  end?(rig: Rig, shop: OpenShop): Promise<void>;
}

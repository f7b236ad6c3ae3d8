import type { ProviderEntry } from '../carrier/ledger.js';
import { HIDDEN_CUSTOMER, VISIBLE_CUSTOMER, type OpenShop } from '../rig/shop.js';
import type { Invariant } from './invariant.js';

export const tenantsApart: Invariant = {
  name: "4 never another tenant's key, data or template",
  breaches: ({ rig, accounts }) =>
    rig.carrier.entries.flatMap((entry) => {
      const shop = accounts.shopOf(entry.tenantid);
      if (!shop) return [`delivery ${entry.deliveryid}: unknown tenant ${entry.tenantid}`];
      return foreignParts(entry, shop).map(
        (part) => `delivery ${entry.deliveryid} of shop ${shop.number}: ${part}`,
      );
    }),
};

function foreignParts(entry: ProviderEntry, { number, marker, apiKeys }: OpenShop): readonly string[] {
  const wrong = {
    "another's key": !apiKeys.includes(entry.apiKey),
    "another's template": !entry.html.includes(marker),
    "another's data": !entry.html.includes(`${VISIBLE_CUSTOMER}-${number}]`),
    "another's order": !entry.subject.includes(` mk-${number}-`),
    "another's recipient": entry.recipients.join() !== `shop-${number}@example.com`,
  };
  return Object.entries(wrong).flatMap(([part, isWrong]) => (isWrong ? [part] : []));
}

/** The queries ask for every customer; their role may see one of two. */
export const rightsHeld: Invariant = {
  name: "5 queries ran with query_roleid's rights",
  breaches: ({ rig }) =>
    rig.carrier.entries
      .filter(({ html }) => html.includes(HIDDEN_CUSTOMER) || html.split('[').length !== 2)
      .map(
        ({ deliveryid }) => `delivery ${deliveryid}: its email does not show the one customer of its role`,
      ),
};

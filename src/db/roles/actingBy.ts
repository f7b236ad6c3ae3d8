import type { ApiKey } from './apiKeys.js';
import type { Principal } from './principal.js';

const bounded = new WeakMap<Principal, Map<string, Principal>>();

/** Who acts by a key: the role, without what the key does not have. */
export function actingBy(principal: Principal, { keyid, capabilities }: ApiKey): Principal {
  if (capabilities === null) return principal;
  const known = bounded.get(principal) ?? new Map<string, Principal>();
  bounded.set(principal, known);
  let made = known.get(keyid);
  if (!made) {
    const held = capabilities.filter(
      (capability) => principal.isAdmin || principal.capabilities.includes(capability),
    );
    const isAdmin = held.includes('admin');
    made = { ...principal, capabilities: held, isAdmin, isRoot: false, boundBy: keyid };
    // Plans are found by the principal, so it must be the same from one request to the next.
    known.set(keyid, made);
  }
  return made;
}

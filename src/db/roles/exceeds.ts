import type { Principal } from './principal.js';

const compared = new WeakMap<Principal, WeakMap<Principal, boolean>>();

/** Whether a role has a capability, class or policy rule that another one of its tenant lacks. Compared once for two principals. */
export function exceeds(principal: Principal, other: Principal): boolean {
  if (other.isAdmin) return false;
  const known = compared.get(principal) ?? new WeakMap<Principal, boolean>();
  compared.set(principal, known);
  const result = known.get(other) ?? compare(principal, other);
  known.set(other, result);
  return result;
}

function compare(principal: Principal, other: Principal): boolean {
  const [capabilities, classes] = [new Set(other.capabilities), new Set(other.classes)];
  const rules = new Set(other.rules.map(({ ruleid }) => ruleid));
  return (
    principal.isAdmin ||
    principal.capabilities.some((capability) => !capabilities.has(capability)) ||
    principal.classes.some((classid) => !classes.has(classid)) ||
    principal.rules.some(({ ruleid }) => !rules.has(ruleid))
  );
}

import { isStorable } from '../../db/sql/isStorable.js';
import { ownValue } from '../../foundation/ownValue.js';

/** The claims of a verified ID token. */
export type Claims = Readonly<Record<string, unknown>>;

export function isText(value: unknown): value is string {
  return typeof value === 'string' && isStorable(value);
}

/**
 * The texts of a claim: its value, those of its list, or the names of its object, as Zitadel sends roles. `true`, `false` and integers
 * count as they are written. A path such as `realm_access.roles` leads into objects, and into each item of a list; a name may have
 * dots itself, such as `https://example.com/groups`, so the longest name that is there counts.
 */
export function textsOf(claims: Claims, path: string): readonly string[] {
  const value = valueAt(claims, path);
  const texts = isObject(value) && !isList(value) ? Object.keys(value) : [value].flat();
  return texts.map((each) => (isPlain(each) ? String(each) : each)).filter(isText);
}

const isPlain = (value: unknown): boolean => typeof value === 'boolean' || Number.isSafeInteger(value);

function valueAt(value: unknown, path: string): unknown {
  if (isList(value)) return value.flatMap((item) => valueAt(item, path) ?? []);
  if (!isObject(value)) return undefined;
  const name = nameIn(value, path);
  if (name === undefined) return undefined;
  const found = ownValue(value, name);
  return name === path ? found : valueAt(found, path.slice(name.length + 1));
}

/**
 * The longest name of an object that leads to the path. Only for a path with dots are all names read: templates may name thousands
 * without, and a provider may send tens of thousands.
 */
function nameIn(value: Claims, path: string): string | undefined {
  if (Object.hasOwn(value, path)) return path;
  if (!path.includes('.')) return undefined;
  let longest: string | undefined;
  for (const name of Object.keys(value)) {
    if (path.startsWith(`${name}.`) && name.length >= (longest?.length ?? 0)) longest = name;
  }
  return longest;
}

/** What a provider has is a handful of levels: more would exhaust the stack of what walks through them. */
const MAX_LEVELS = 50;

export function isTooDeep(claims: Claims): boolean {
  let level: readonly unknown[] = [claims];
  for (let levels = 0; levels <= MAX_LEVELS; levels++) {
    level = level.filter(isObject).flatMap((value) => Object.values(value));
    if (level.length === 0) return false;
  }
  return true;
}

/**
 * Whether the provider has left the claim out because it is too long, as Microsoft Entra does with more than 200 groups: `_claim_names`
 * says where else it is (OpenID Connect Core, 5.6.2), or `hasgroups` that there are any.
 */
export function isLeftOut(claims: Claims, path: string): boolean {
  if (nameIn(claimNames(claims), path) !== undefined) return true;
  return ownValue(claims, 'hasgroups') === true && /^groups(\.|$)/.test(path) && !isThere(claims, path);
}

/** Whether the claims have to be asked for elsewhere, where the provider may have more. */
export function isMissing(claims: Claims, path: string): boolean {
  return isLeftOut(claims, path) || !isThere(claims, path);
}

/** The claims of an ID token with those of UserInfo that it has not, or has in part. */
export function completeClaims(claims: Claims, more: Claims): Claims {
  const complete = new Map(Object.entries(claims));
  const stillElsewhere = claimNames(more);
  const isFound = (name: string): boolean =>
    ownValue(more, name) !== undefined && !Object.hasOwn(stillElsewhere, name);
  const left: string[] = [];
  for (const name of Object.keys(claimNames(claims))) {
    if (isFound(name)) complete.delete(name);
    else left.push(name);
  }
  complete.delete('_claim_names');
  if (left.length > 0) complete.set('_claim_names', Object.fromEntries(left.map((name) => [name, ''])));
  // An address is verified where it comes from.
  const isOther = claims['email'] !== undefined && claims['email'] !== more['email'];
  if (!complete.has('email') && more['email'] !== undefined) complete.delete('email_verified');
  for (const [name, value] of Object.entries(more)) {
    if (!complete.has(name) && !(isOther && name === 'email_verified')) complete.set(name, value);
  }
  return Object.fromEntries(complete);
}

function isThere(claims: Claims, path: string): boolean {
  return valueAt(claims, path) !== undefined;
}

/** Those that the provider has elsewhere. */
function claimNames(claims: Claims): Claims {
  const names = ownValue(claims, '_claim_names');
  return isObject(names) && !isList(names) ? names : {};
}

/** The address that the provider says is the person's own. */
export function verifiedEmail(claims: Claims, alwaysVerified: boolean): string | undefined {
  const [email, verified] = [ownValue(claims, 'email'), ownValue(claims, 'email_verified')];
  const isVerified = verified === true || (verified === undefined && alwaysVerified);
  return isVerified && isText(email) ? email : undefined;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null;
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

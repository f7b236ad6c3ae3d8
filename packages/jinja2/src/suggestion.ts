import { distance } from 'fastest-levenshtein';

/** A hint with the closest name, or with some of the names. */
export function suggestion(wrong: string, names: Iterable<string>): string | undefined {
  const all = [...names];
  if (all.length === 0) return undefined;
  const name = closestName(wrong, all);
  if (name !== undefined) return `Did you mean "${name}"?`;
  return `There are ${all.slice(0, 12).join(', ')}${all.length > 12 ? ', …' : ''}.`;
}

/** More aren't compared: each takes a microsecond of the event loop. */
const MAX_NAMES = 2_000;
const MAX_CHARACTERS = 64;
/** Of a name, however long it is. */
const MAX_MISTAKES = 7;

/** The name that is spelled almost like `wrong`. */
export function closestName(wrong: string, names: Iterable<string>): string | undefined {
  let closest: string | undefined;
  let least = Math.min(Math.max(1, Math.floor(wrong.length / 3)), MAX_MISTAKES) + 1;
  const sought = comparable(wrong);
  let compared = 0;
  for (const name of names) {
    if (++compared > MAX_NAMES) break;
    const mistakes = distance(sought, comparable(name));
    if (mistakes < least) [closest, least] = [name, mistakes];
  }
  return closest;
}

function comparable(name: string): string {
  return name.slice(0, MAX_CHARACTERS).toLowerCase().slice(0, MAX_CHARACTERS);
}

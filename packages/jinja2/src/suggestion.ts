/** A hint with the closest name, or with some of the names. */
export function suggestion(wrong: string, names: Iterable<string>): string | undefined {
  const all = [...names];
  if (all.length === 0) return undefined;
  const name = closestName(wrong, all);
  if (name !== undefined) return `Did you mean "${name}"?`;
  return `There are ${all.slice(0, 12).join(', ')}${all.length > 12 ? ', …' : ''}.`;
}

/** More aren't compared: each takes some microseconds of the event loop. */
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
    const distance = editDistance(sought, comparable(name), least);
    if (distance < least) [closest, least] = [name, distance];
  }
  return closest;
}

function comparable(name: string): string {
  return name.slice(0, MAX_CHARACTERS).toLowerCase().slice(0, MAX_CHARACTERS);
}

/** Two rows of the table of distances, which no call leaves in use. */
const ROWS = [new Uint8Array(MAX_CHARACTERS + 2), new Uint8Array(MAX_CHARACTERS + 2)] as const;

/** Levenshtein distance; if it is no less than `most`, that. Only looks at what may be less. */
function editDistance(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) >= most) return most;
  let [previous, current] = ROWS;
  for (let j = 0; j <= Math.min(b.length, most); j++) previous[j] = j;
  for (let i = 1; i <= a.length; i++) {
    const first = Math.max(1, i - most + 1);
    const last = Math.min(b.length, i + most - 1);
    const code = a.charCodeAt(i - 1);
    let left = first === 1 ? i : most;
    let least = (current[first - 1] = left);
    for (let j = first; j <= last; j++) {
      const diagonal = previous[j - 1] ?? 0;
      const above = previous[j] ?? 0;
      left = code === b.charCodeAt(j - 1) ? diagonal : 1 + Math.min(diagonal, above, left);
      current[j] = left;
      if (left < least) least = left;
    }
    if (least >= most) return most;
    current[last + 1] = most;
    [previous, current] = [current, previous];
  }
  return previous[b.length] ?? 0;
}

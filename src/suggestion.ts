/** A hint with the closest name, or with some of the names. */
export function suggestion(wrong: string, names: Iterable<string>): string | undefined {
  const all = [...names];
  if (all.length === 0) return undefined;
  const name = closestName(wrong, all);
  if (name !== undefined) return `Did you mean "${name}"?`;
  return `There are ${all.slice(0, 12).join(', ')}${all.length > 12 ? ', …' : ''}.`;
}

/** The name that is spelled almost like `wrong`. */
export function closestName(wrong: string, names: Iterable<string>): string | undefined {
  let closest: string | undefined;
  let least = Math.max(1, Math.floor(wrong.length / 3)) + 1;
  for (const name of names) {
    const distance = editDistance(wrong.toLowerCase(), name.toLowerCase());
    if (distance < least) [closest, least] = [name, distance];
  }
  return closest;
}

/** Levenshtein distance of the first 64 characters. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: Math.min(b.length, 64) + 1 }, (_, j) => j);
  for (let i = 1; i <= Math.min(a.length, 64); i++) {
    const current = [i];
    for (let j = 1; j < previous.length; j++) {
      const substitution = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      current.push(Math.min(substitution, (previous[j] ?? 0) + 1, (current[j - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous.at(-1) ?? 0;
}

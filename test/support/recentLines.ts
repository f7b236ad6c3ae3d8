/** What the logs of a running test said last, printed when it fails (test/setup.ts). */
const MOST = 50;
const lines = new Map<string, string[]>();

/** @param source whose log it is, such as "rowpost worker" */
export function noteLines(source: string, text: string): void {
  const kept = lines.get(source) ?? [];
  kept.push(...text.split('\n').filter((line) => line !== ''));
  lines.set(source, kept.slice(-MOST));
}

/** @returns the last lines of each log, for a person to read */
export function recentLines(): string {
  return [...lines]
    .map(([source, kept]) => `last ${kept.length} lines of ${source}:\n${kept.join('\n')}`)
    .join('\n');
}

export function forgetLines(): void {
  lines.clear();
}

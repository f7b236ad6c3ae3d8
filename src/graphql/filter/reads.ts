/** What must be read to evaluate an expression: the current row, rows related to it, or all rows of some table. */
export type Reads = 'row' | 'related' | 'tables';

interface Reading {
  readonly reads: Reads;
}

const REACH: readonly Reads[] = ['row', 'related', 'tables'];

/** What must be read to evaluate all of them. */
export function widest(items: readonly Reading[]): Reads {
  return REACH[Math.max(0, ...items.map(({ reads }) => REACH.indexOf(reads)))] ?? 'tables';
}

/** Those that read less come first. */
export function byReach(a: Reading, b: Reading): number {
  return REACH.indexOf(a.reads) - REACH.indexOf(b.reads);
}

/** What evaluating an expression reads: the current row, rows related to it, or all rows of some table. */
export type ReadExtent = 'row' | 'related' | 'tables';

interface Reading {
  readonly reads: ReadExtent;
}

const REACH: readonly ReadExtent[] = ['row', 'related', 'tables'];

/** What evaluating all of them reads. */
export function widest(items: readonly Reading[]): ReadExtent {
  return REACH[Math.max(0, ...items.map(({ reads }) => REACH.indexOf(reads)))] ?? 'tables';
}

/** Sorts by extent, smallest first. */
export function byExtent(a: Reading, b: Reading): number {
  return REACH.indexOf(a.reads) - REACH.indexOf(b.reads);
}

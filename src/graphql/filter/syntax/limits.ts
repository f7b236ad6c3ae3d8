/** Limits on one filter expression; exceeding any of them is FILTER_TOO_COMPLEX. */
export interface FilterLimits {
  /** UTF-16 code units of the whole text. */
  readonly textLength: number;
  readonly tokens: number;
  /** Nodes of the tree; a list of literals is one. */
  readonly nodes: number;
  /** Nesting of parentheses, operators, calls and lists. */
  readonly depth: number;
  /** Items of one list. */
  readonly listItems: number;
  /** Characters of one number, and its largest power of ten. */
  readonly numberLength: number;
  /** Relations in one path: `a.b.c.column` has three. */
  readonly pathHops: number;
  /** Related tables in the SQL. PostgreSQL takes a third of a second to plan twice as many, and seconds for a hundred. */
  readonly relatedTables: number;
}

export const FILTER_LIMITS: FilterLimits = Object.freeze({
  textLength: 100_000,
  tokens: 25_000,
  nodes: 1_000,
  depth: 64,
  listItems: 10_000,
  numberLength: 1_000,
  pathHops: 8,
  relatedTables: 32,
});

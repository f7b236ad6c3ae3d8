/** One equation: `factors` times what is looked for should be `result`. */
export interface Equation {
  readonly factors: readonly number[];
  readonly result: number;
}

const ROUNDS = 20_000;

/**
 * What comes closest to all results, none of it negative: by coordinate descent, of which no step makes the squared error
 * larger.
 */
export function solveNonNegative(equations: readonly Equation[]): readonly number[] {
  const unknowns = equations[0]?.factors.length ?? 0;
  const found = new Array<number>(unknowns).fill(0);
  for (let round = 0; round < ROUNDS; round++) {
    for (let at = 0; at < unknowns; at++) {
      let above = 0;
      let below = 0;
      for (const { factors, result } of equations) {
        const factor = factors[at] ?? 0;
        const rest = factors.reduce((sum, each, n) => sum + (n === at ? 0 : each * (found[n] ?? 0)), 0);
        above += factor * (result - rest);
        below += factor * factor;
      }
      found[at] = below === 0 ? 0 : Math.max(0, above / below);
    }
  }
  return found;
}

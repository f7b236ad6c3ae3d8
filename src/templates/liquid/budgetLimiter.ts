import type { Budget } from '../limits.js';

/** A LiquidJS limiter backed by our budget. LiquidJS calls it at every node, and before it allocates memory. */
export class BudgetLimiter {
  constructor(readonly budget: Budget) {}

  check(): void {
    this.budget.step();
  }

  use(count: number): void {
    if (count > 0) this.budget.allocate(count);
  }
}

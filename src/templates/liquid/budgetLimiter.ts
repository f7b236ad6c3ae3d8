import type { Budget } from '../limits.js';

/** A LiquidJS limiter backed by our budget. LiquidJS calls it at every node, and before it allocates memory. */
export class BudgetLimiter {
  constructor(readonly budget: Budget) {}

  check(): void {
    this.budget.step();
  }

  /** @param count may be the template's own value, such as the text `'0x10'` */
  use(count: unknown): void {
    const units = Number(count);
    if (units > 0) this.budget.allocate(units);
  }
}

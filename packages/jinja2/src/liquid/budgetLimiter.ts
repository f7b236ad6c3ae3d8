import { limitFault } from '../errors.js';
import type { Budget } from '../limits.js';

/** What printing a value takes. */
interface Size {
  /** Values in it, however often it holds the same one. */
  readonly values: number;
  /** Those and the characters of texts and names. */
  readonly units: number;
  /** Characters of names. */
  readonly names: number;
  readonly depth: number;
}

const MAX_DEPTH = 500;
/** Values that are measured in one step, which takes less than most steps. */
const VALUES_PER_STEP = 10;

/** A LiquidJS limiter backed by our budget. LiquidJS calls it at every node, and before it allocates memory. */
export class BudgetLimiter {
  /** Templates can't change lists and objects. */
  readonly #sizes = new WeakMap<object, Size>();

  constructor(readonly budget: Budget) {}

  check(): void {
    this.budget.step();
  }

  /** @param count may be the template's own value, such as the text `'0x10'` */
  use(count: unknown): void {
    const units = Number(count);
    if (units > 0) this.budget.allocate(units);
  }

  /** @throws Fault if printing the value would take more than a render may allocate */
  checkSize(value: unknown): Size {
    const size = this.#sizeOf(value, 0);
    if (size.units > this.budget.limits.allocations) {
      throw limitFault(`a list is too large (limit ${this.budget.limits.allocations} units)`);
    }
    return size;
  }

  #sizeOf(value: unknown, level: number): Size {
    if (typeof value === 'string') return { values: 1, units: 1 + value.length, names: 0, depth: 0 };
    if (typeof value !== 'object' || value === null) return { values: 1, units: 1, names: 0, depth: 0 };
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    if (level > MAX_DEPTH) throw nestsTooDeeply();
    let [values, units, names, depth] = [1, 1, 0, 0];
    for (const [key, part] of partsOf(value)) {
      this.budget.work(1 / VALUES_PER_STEP);
      const size = this.#sizeOf(part, level + 1);
      values += size.values;
      units += key + size.units;
      names += key + size.names;
      depth = Math.max(depth, size.depth);
    }
    if (depth >= MAX_DEPTH) throw nestsTooDeeply();
    const size = { values, units, names, depth: depth + 1 };
    this.#sizes.set(value, size);
    return size;
  }
}

/** The values of a list or an object, with the lengths of their names. */
function* partsOf(value: object): Iterable<readonly [name: number, value: unknown]> {
  if (Array.isArray(value)) for (const item of value) yield [0, item];
  else for (const [name, member] of Object.entries(value)) yield [name.length, member];
}

function nestsTooDeeply(): Error {
  return limitFault(`a list nests deeper than ${MAX_DEPTH} levels`);
}

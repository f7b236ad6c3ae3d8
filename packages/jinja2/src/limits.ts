import { limitFault } from './errors.js';

/** Resource limits, per render unless noted otherwise. */
export interface TemplateLimits {
  /** Characters of one template's source. */
  readonly sourceLength: number;
  /** Levels of nested tags and expressions. */
  readonly nesting: number;
  /** Nodes of the syntax tree. */
  readonly nodes: number;
  /** Evaluated nodes plus the work of built-ins: one step per item or character processed. */
  readonly steps: number;
  /** Wall-clock time in milliseconds. */
  readonly timeMs: number;
  /** Total characters and items in values created by the template during the render. */
  readonly allocations: number;
  /** Characters of output. */
  readonly outputLength: number;
  /** Items of one `range()`. */
  readonly range: number;
  /** Nesting depth of macros, blocks, layouts and recursive loops. */
  readonly callDepth: number;
  /** Width or precision of one padded or formatted value, in characters. */
  readonly formatWidth: number;
}

export const DEFAULT_LIMITS: TemplateLimits = {
  sourceLength: 200_000,
  nesting: 60,
  nodes: 50_000,
  steps: 2_000_000,
  timeMs: 1_000,
  allocations: 5_000_000,
  outputLength: 2_000_000,
  range: 100_000,
  callDepth: 100,
  formatWidth: 10_000,
};

/**
 * Comparisons of characters that one step stands for in a search. V8 may compare each character of the part with each of the
 * text, in a single call that nothing can interrupt.
 */
const COMPARISONS_PER_STEP = 1_000;

/** Characters that one step stands for where a text is only looked at. */
const CHARACTERS_PER_STEP = 100;

/** Steps between two checks of the clock. */
const CLOCK_STEPS = 512;

/** Counts one render's resource usage, and faults at the first limit reached. */
export class Budget {
  private steps = 0;
  private nextCheck: number;
  private allocations = 0;
  private depth = 0;
  private readonly deadline: number;

  constructor(readonly limits: TemplateLimits) {
    this.deadline = performance.now() + limits.timeMs;
    this.nextCheck = Math.min(CLOCK_STEPS, limits.steps + 1);
  }

  /** Charges for evaluating a node or beginning an iteration. */
  step(): void {
    if (++this.steps >= this.nextCheck) this.checkpoint();
  }

  /** Charges for work on `count` items or characters that allocates nothing. */
  work(count: number): void {
    if ((this.steps += count) >= this.nextCheck) this.checkpoint();
  }

  /** Charges for counting the characters of a text. */
  scan(text: string): void {
    this.work(text.length / CHARACTERS_PER_STEP);
  }

  /** Charges for looking for a part in a text. Call it before the search. */
  search(text: string, part: string): void {
    this.work((text.length * part.length) / COMPARISONS_PER_STEP);
  }

  /** Charges for a value of `count` items or characters. Call it before creating the value. */
  allocate(count: number): void {
    this.allocations += count;
    if (this.allocations > this.limits.allocations) {
      throw limitFault(`the template uses too much memory (limit ${this.limits.allocations} units)`);
    }
    this.work(count);
  }

  /** Call when entering a macro, a block, a layout or a recursive loop; pair with leaveCall. */
  enterCall(): void {
    if (++this.depth > this.limits.callDepth) {
      throw limitFault(`macros and layouts nest too deeply (limit ${this.limits.callDepth})`);
    }
  }

  leaveCall(): void {
    this.depth--;
  }

  /** Checks a width or precision passed to a formatting function. */
  checkWidth(width: number): void {
    if (width > this.limits.formatWidth) {
      throw limitFault(`format width ${width} is too large (limit ${this.limits.formatWidth})`);
    }
  }

  private checkpoint(): void {
    if (this.steps > this.limits.steps) {
      throw limitFault(`the template does too much work (limit ${this.limits.steps} steps)`);
    }
    if (performance.now() > this.deadline) {
      throw limitFault(`the template takes too long (limit ${this.limits.timeMs} ms)`);
    }
    this.nextCheck = Math.min(this.steps + CLOCK_STEPS, this.limits.steps + 1);
  }
}

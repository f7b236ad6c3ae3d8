import { renderFault } from '../errors.js';
import type { BoundedEmitter } from '../emitter.js';
import type { Budget } from '../limits.js';
import { FILTERS } from '../filters/filters.js';
import { getAttribute, getItem } from '../values/attributes.js';
import type { CallArguments, Evaluation } from '../values/callable.js';
import type { PlainDict, Value } from '../values/value.js';
import { GLOBALS } from './globals.js';
import { PREDICATES } from './predicates.js';

/** The state of one render, shared by its frames. */
export class Run implements Evaluation {
  /** What the template's top level assigned, for blocks to read. */
  exported = new Map<string, Value>();

  constructor(
    readonly budget: Budget,
    /** The current output; replaced while the output of a macro or block is captured. */
    public out: BoundedEmitter,
    public autoescape: boolean,
    readonly context: PlainDict,
    readonly ownsContext: boolean,
  ) {}

  /** A name that no scope of the template assigns. */
  resolve(name: string): Value | undefined {
    const exported = this.exported.get(name);
    if (exported !== undefined) return exported;
    const value = Object.hasOwn(this.context, name) ? this.context[name] : undefined;
    return value === undefined ? GLOBALS.get(name) : value;
  }

  attribute(target: Value, name: string): Value {
    return getAttribute(target, name, this.budget);
  }

  item(target: Value, key: Value): Value {
    return getItem(target, key, this.budget);
  }

  hasFilter(name: string): boolean {
    return FILTERS.has(name);
  }

  hasTest(name: string): boolean {
    return PREDICATES.has(name);
  }

  callFilter(name: string, input: Value, args: CallArguments): Value {
    const filter = FILTERS.get(name);
    if (filter === undefined) throw renderFault(`No filter named '${name}'.`);
    return filter(input, args, this);
  }

  callTest(name: string, input: Value, args: CallArguments): boolean {
    const predicate = PREDICATES.get(name);
    if (predicate === undefined) throw renderFault(`No test named '${name}'.`);
    return predicate(input, args, this);
  }

  /** Captures what `write` prints. */
  capture(emitter: BoundedEmitter, write: () => void): string {
    const { out } = this;
    this.out = emitter;
    try {
      write();
    } finally {
      this.out = out;
    }
    this.budget.allocate(emitter.buffer.length);
    return emitter.buffer;
  }
}

/** The variables of one call of a function: the template itself, a macro, a block or a recursive loop. */
export class Frame {
  readonly slots: (Value | undefined)[];
  /** The frame of the function around this one; the outermost frame is its own. */
  readonly parent: Frame;

  constructor(
    readonly run: Run,
    slotCount: number,
    parent?: Frame,
  ) {
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined);
    this.parent = parent ?? this;
  }
}

/** A compiled expression. */
export type Evaluate = (frame: Frame) => Value;

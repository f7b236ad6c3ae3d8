import { renderFault } from '../errors.js';
import type { Budget } from '../limits.js';
import { BuiltinFunction, Callable, type CallArguments } from '../values/callable.js';
import { equals } from '../values/compare.js';
import { Tuple, Undefined, type Value } from '../values/value.js';

/** Recurses into other items, one level deeper. */
export type Recurse = (items: Value, depth0: number) => Value;

/** The `loop` variable. It is also the iterator, so that it knows the next item. */
export class LoopContext extends Callable {
  readonly typeName = 'LoopContext';
  private index0 = -1;
  private current: Value | undefined;
  private previous: Value | undefined;
  /** A lookahead item. */
  private ahead: Value | undefined;
  private readonly iterator: Iterator<Value>;
  private rest: readonly Value[] | undefined;
  private restPosition = 0;
  private lastChanged: Value | undefined;

  constructor(
    items: Iterable<Value>,
    private knownLength: number | undefined,
    private readonly depth0: number,
    private readonly recurse: Recurse | undefined,
    private readonly budget: Budget,
  ) {
    super();
    this.rest = Array.isArray(items) ? (items as readonly Value[]) : undefined;
    this.iterator = this.rest === undefined ? items[Symbol.iterator]() : [].values();
  }

  /** Advances; the next item, or undefined (JavaScript's) at the end. */
  next(): Value | undefined {
    const item = this.ahead === undefined ? this.pull() : this.ahead;
    this.ahead = undefined;
    if (item === undefined) return undefined;
    this.index0++;
    this.previous = this.current;
    this.current = item;
    return item;
  }

  private pull(): Value | undefined {
    if (this.rest !== undefined) return this.rest[this.restPosition++];
    const next: IteratorResult<Value, unknown> = this.iterator.next();
    return next.done === true ? undefined : next.value;
  }

  private peek(): Value | undefined {
    if (this.ahead === undefined) this.ahead = this.pull();
    return this.ahead;
  }

  /** The number of items; consumes a generator to its end. */
  private get length(): number {
    if (this.knownLength !== undefined) return this.knownLength;
    const rest: Value[] = [];
    for (let item = this.pull(); item !== undefined; item = this.pull()) {
      this.budget.allocate(1);
      rest.push(item);
    }
    this.rest = rest;
    this.restPosition = 0;
    this.knownLength = rest.length + this.index0 + 1 + (this.ahead === undefined ? 0 : 1);
    return this.knownLength;
  }

  override attribute(name: string): Value | undefined {
    switch (name) {
      case 'index':
        return this.index0 + 1;
      case 'index0':
        return this.index0;
      case 'revindex':
        return this.length - this.index0;
      case 'revindex0':
        return this.length - this.index0 - 1;
      case 'first':
        return this.index0 === 0;
      case 'last':
        return this.peek() === undefined;
      case 'length':
        return this.length;
      case 'depth':
        return this.depth0 + 1;
      case 'depth0':
        return this.depth0;
      case 'previtem':
        return this.index0 === 0 || this.previous === undefined
          ? new Undefined('there is no previous item')
          : this.previous;
      case 'nextitem': {
        const next = this.peek();
        return next === undefined ? new Undefined('there is no next item') : next;
      }
      case 'cycle':
        return new BuiltinFunction((args) => this.cycle(args), 'method');
      case 'changed':
        return new BuiltinFunction((args) => this.changed(args), 'method');
      default:
        return undefined;
    }
  }

  private cycle({ positional }: CallArguments): Value {
    const item = positional[this.index0 % Math.max(1, positional.length)];
    if (item === undefined) throw renderFault('no items for cycling given');
    return item;
  }

  private changed({ positional }: CallArguments): boolean {
    const value = new Tuple(positional);
    if (this.lastChanged !== undefined && equals(this.lastChanged, value, this.budget)) return false;
    this.lastChanged = value;
    return true;
  }

  /** `loop(items)` in a recursive loop. */
  override call({ positional }: CallArguments): Value {
    const [items] = positional;
    if (this.recurse === undefined) {
      throw renderFault("The loop must have the 'recursive' marker to be called recursively.");
    }
    if (items === undefined || positional.length > 1) throw renderFault('loop() takes exactly one argument');
    return this.recurse(items, this.depth0 + 1);
  }

  override size(): number {
    return this.length;
  }

  override repr(): string {
    return `<LoopContext ${this.index0 + 1}/${this.length}>`;
  }
}

import { locate } from '../../errors.js';
import { BoundedEmitter } from '../../emitter.js';
import { iterate, tryLength } from '../../values/iterate.js';
import { Markup, PyIterator, Tuple } from '../../values/value.js';
import type { Value } from '../../values/value.js';
import type { Assign } from '../assign.js';
import { LoopContext } from '../loop.js';
import { Frame } from '../runtime.js';
import type { Evaluate } from '../runtime.js';
import type { Escaping } from '../scope.js';
import { executeAll, JinjaNode } from './node.js';

/** The parts of a `{% for %}`, compiled. */
export interface ForParts {
  readonly iterable: Evaluate;
  readonly iterableOffset: number;
  readonly assign: Assign;
  /** The slot of `loop`, when the body uses it. */
  readonly loopSlot: number | undefined;
  /** `{% for … if test %}` */
  readonly filter: LoopFilter | undefined;
  readonly enterBody: (frame: Frame) => void;
  readonly body: readonly JinjaNode[];
  readonly enterElse: (frame: Frame) => void;
  readonly otherwise: readonly JinjaNode[];
}

export interface LoopFilter {
  readonly enter: (frame: Frame) => void;
  readonly assign: Assign;
  readonly test: (frame: Frame) => boolean;
  readonly read: (frame: Frame) => Value;
}

/** `{% for %}…{% else %}…{% endfor %}` */
export class ForNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly parts: ForParts,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    runLoop(this.parts, frame, this.parts.iterable(frame), 0, undefined);
  }
}

/** Runs the loop over the items of a value. */
function runLoop(
  parts: ForParts,
  frame: Frame,
  value: Value,
  depth0: number,
  recurse: ((items: Value, depth0: number) => Value) | undefined,
): void {
  const { budget } = frame.run;
  let ran: boolean;
  try {
    const source = value instanceof Tuple ? value.items : iterate(value, budget);
    const items = parts.filter === undefined ? source : filtered(parts.filter, source, frame);
    const length = parts.filter === undefined ? loopLength(value) : undefined;
    ran =
      parts.loopSlot === undefined
        ? runPlain(parts, frame, items)
        : runWithLoop(parts, parts.loopSlot, frame, new LoopContext(items, length, depth0, recurse, budget));
  } catch (error) {
    throw locate(error, parts.iterableOffset);
  }
  if (ran || parts.otherwise.length === 0) return;
  parts.enterElse(frame);
  executeAll(parts.otherwise, frame);
}

function loopLength(value: Value): number | undefined {
  return value instanceof PyIterator ? undefined : tryLength(value);
}

function runPlain({ assign, enterBody, body }: ForParts, frame: Frame, items: Iterable<Value>): boolean {
  const { budget } = frame.run;
  let ran = false;
  for (const item of items) {
    budget.step();
    assign(frame, item);
    enterBody(frame);
    executeAll(body, frame);
    ran = true;
  }
  return ran;
}

function runWithLoop(
  { assign, enterBody, body }: ForParts,
  loopSlot: number,
  frame: Frame,
  loop: LoopContext,
): boolean {
  const { budget } = frame.run;
  let ran = false;
  for (let item = loop.next(); item !== undefined; item = loop.next()) {
    budget.step();
    assign(frame, item);
    frame.slots[loopSlot] = loop;
    enterBody(frame);
    executeAll(body, frame);
    ran = true;
  }
  return ran;
}

function* filtered(
  { enter, assign, test, read }: LoopFilter,
  items: Iterable<Value>,
  frame: Frame,
): Generator<Value> {
  enter(frame);
  for (const item of items) {
    frame.run.budget.step();
    assign(frame, item);
    if (test(frame)) yield read(frame);
  }
}

/** `{% for … recursive %}`: each level is a call that returns text. */
export class RecursiveForNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly parts: ForParts,
    private readonly slotCount: () => number,
    private readonly escaping: Escaping,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const text = this.call(frame, this.parts.iterable(frame), 0);
    frame.run.out.writeValue(text, text instanceof Markup ? text.text : text);
  }

  private call(outer: Frame, items: Value, depth0: number): string | Markup {
    const { run } = outer;
    const { budget } = run;
    budget.enterCall();
    const frame = new Frame(run, this.slotCount(), outer);
    const text = run.capture(new BoundedEmitter(budget.limits.outputLength), () =>
      runLoop(this.parts, frame, items, depth0, (inner, depth) => this.call(outer, inner, depth)),
    );
    budget.leaveCall();
    const escapes = this.escaping === 'volatile' ? run.autoescape : this.escaping;
    return escapes ? new Markup(text) : text;
  }
}

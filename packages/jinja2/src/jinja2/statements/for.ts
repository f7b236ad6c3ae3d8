import { locate } from '../../errors.js';
import { BoundedEmitter } from '../../emitter.js';
import { iterate, tryLength } from '../../values/iterate.js';
import { Markup, PyIterator, Tuple, type Value } from '../../values/value.js';
import type { Assign } from '../assign.js';
import { LoopContext, type Recurse } from '../loop.js';
import { executeAll, Frame, type Evaluate, type Execute } from '../runtime.js';

/** The parts of a `{% for %}`, compiled. */
export interface ForParts {
  readonly iterable: Evaluate;
  readonly iterableOffset: number;
  readonly assign: Assign;
  /** The slot of `loop`, when the body uses it. */
  readonly loopSlot: number | undefined;
  /** `{% for … if test %}` */
  readonly filter: LoopFilter | undefined;
  readonly enterBody: Execute;
  readonly body: readonly Execute[];
  readonly enterElse: Execute;
  readonly otherwise: readonly Execute[];
}

export interface LoopFilter {
  readonly enter: Execute;
  readonly assign: Assign;
  readonly test: (frame: Frame) => boolean;
  readonly read: (frame: Frame) => Value;
}

/** `{% for %}…{% else %}…{% endfor %}` */
export function runFor(parts: ForParts): Execute {
  return (frame) => runLoop(parts, frame, parts.iterable(frame), 0, undefined);
}

/** `{% for … recursive %}`: each level is a call that returns text. */
export function runRecursiveFor(
  parts: ForParts,
  slotCount: number,
  escapes: (frame: Frame) => boolean,
): Execute {
  const call = (outer: Frame, items: Value, depth0: number): string | Markup => {
    const { run } = outer;
    run.budget.enterCall();
    const frame = new Frame(run, slotCount, outer);
    const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () =>
      runLoop(parts, frame, items, depth0, (inner, depth) => call(outer, inner, depth)),
    );
    run.budget.leaveCall();
    return escapes(outer) ? new Markup(text) : text;
  };
  return (frame) => {
    const text = call(frame, parts.iterable(frame), 0);
    frame.run.out.writeValue(text, text instanceof Markup ? text.text : text);
  };
}

/** Runs the loop over the items of a value. */
function runLoop(
  parts: ForParts,
  frame: Frame,
  value: Value,
  depth0: number,
  recurse: Recurse | undefined,
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

import { BoundedEmitter } from '../../emitter.js';
import { Markup, type Value } from '../../values/value.js';
import { executeAll, type Evaluate, type Execute, type Frame } from '../runtime.js';

/** A block's captured output, kept in a slot while its filters are applied. */
export interface BlockText {
  readonly enter: Execute;
  readonly body: readonly Execute[];
  readonly slot: number;
  readonly filter: Evaluate | undefined;
  /** Whether the text is markup to the filters. */
  readonly isMarkup: (frame: Frame) => boolean;
}

/** Captures a block's output as a value and applies its filters. */
export function captureBlock({ enter, body, slot, filter, isMarkup }: BlockText): Evaluate {
  return (frame): Value => {
    const { run } = frame;
    enter(frame);
    const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () =>
      executeAll(body, frame),
    );
    if (filter === undefined) return text;
    frame.slots[slot] = isMarkup(frame) ? new Markup(text) : text;
    return filter(frame);
  };
}

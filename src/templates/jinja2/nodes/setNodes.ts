import { BoundedEmitter } from '../../emitter.js';
import { locate } from '../../errors.js';
import { str } from '../../values/text.js';
import { Markup } from '../../values/value.js';
import type { Value } from '../../values/value.js';
import type { Assign } from '../assign.js';
import type { Evaluate, Frame } from '../runtime.js';
import { executeAll, JinjaNode } from './node.js';

/** A name assigned at the template's top level, which blocks and other templates can read. */
export interface Export {
  readonly name: string;
  readonly slot: number;
}

function exportNames(exports: readonly Export[], frame: Frame): void {
  for (const { name, slot } of exports) {
    const value = frame.slots[slot];
    if (value !== undefined) frame.run.setVar(name, value);
  }
}

/** `{% set target = value %}` */
export class SetNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly assign: Assign,
    private readonly value: Evaluate,
    private readonly exports: readonly Export[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    this.assign(frame, this.value(frame));
    exportNames(this.exports, frame);
  }
}

/** A block's captured output, kept in a slot while its filters are applied. */
export interface BlockText {
  readonly enter: (frame: Frame) => void;
  readonly body: readonly JinjaNode[];
  readonly slot: number;
  readonly filter: Evaluate | undefined;
  /** Whether the text is markup to the filters. */
  readonly markup: (frame: Frame) => boolean;
}

/** Captures a block's output as a value and applies its filters. */
export function evaluateBlock({ enter, body, slot, filter, markup }: BlockText, frame: Frame): Value {
  const { run } = frame;
  enter(frame);
  const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () => executeAll(body, frame));
  if (filter === undefined) return text;
  frame.slots[slot] = markup(frame) ? new Markup(text) : text;
  return filter(frame);
}

/** `{% set target %}…{% endset %}` */
export class SetBlockNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly assign: Assign,
    private readonly block: BlockText,
    private readonly exports: readonly Export[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const { run } = frame;
    const value = evaluateBlock(this.block, frame);
    try {
      const markup = run.autoescape && !(value instanceof Markup);
      this.assign(frame, markup ? new Markup(str(value, run.budget)) : value);
    } catch (error) {
      throw locate(error, this.offset);
    }
    exportNames(this.exports, frame);
  }
}

/** `{% with a = 1, b = 2 %}…{% endwith %}` */
export class WithNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly enter: (frame: Frame) => void,
    private readonly bindings: readonly { readonly assign: Assign; readonly value: Evaluate }[],
    private readonly body: readonly JinjaNode[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    this.enter(frame);
    for (const { assign, value } of this.bindings) assign(frame, value(frame));
    executeAll(this.body, frame);
  }
}

import { BoundedEmitter } from '../../emitter.js';
import { locate, renderFault } from '../../errors.js';
import { BuiltinFunction } from '../../values/callable.js';
import { isTrue } from '../../values/truth.js';
import { Markup, PyObject } from '../../values/value.js';
import type { Value } from '../../values/value.js';
import { Frame } from '../runtime.js';
import type { Evaluate, Run } from '../runtime.js';
import { executeAll, JinjaNode } from './node.js';

/** A `{% block %}`, compiled: a function without parameters. */
export interface BlockDefinition {
  readonly required: boolean;
  readonly slotCount: () => number;
  /** The slot of `self`, when the body uses it. */
  readonly selfSlot: number | undefined;
  readonly enter: (frame: Frame) => void;
  readonly body: readonly JinjaNode[];
}

export type Blocks = ReadonlyMap<string, BlockDefinition>;

function runBlock(definition: BlockDefinition, blocks: Blocks, run: Run): void {
  run.budget.enterCall();
  const frame = new Frame(run, definition.slotCount());
  if (definition.selfSlot !== undefined)
    frame.slots[definition.selfSlot] = new TemplateReference(blocks, run);
  definition.enter(frame);
  executeAll(definition.body, frame);
  run.budget.leaveCall();
}

/** `self`: the template's blocks, to be called by name. */
export class TemplateReference extends PyObject {
  readonly typeName = 'TemplateReference';
  constructor(
    private readonly blocks: Blocks,
    private readonly run: Run,
  ) {
    super();
  }

  override attribute(name: string): Value | undefined {
    const definition = this.blocks.get(name);
    return definition && new BuiltinFunction(() => this.print(definition), 'BlockReference');
  }

  private print(definition: BlockDefinition): Value {
    const { run } = this;
    const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () =>
      runBlock(definition, this.blocks, run),
    );
    return run.autoescape ? new Markup(text) : text;
  }
}

/** `{% block name %}…{% endblock %}`: since no template extends another, it prints in its place. */
export class BlockNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly name: string,
    private readonly blocks: Blocks,
    /** For a scoped block, the variables around it that it sees. */
    private readonly locals: readonly {
      readonly name: string;
      readonly read: (frame: Frame) => Value | undefined;
    }[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const { run } = frame;
    const definition = this.blocks.get(this.name);
    if (definition === undefined) throw new Error(`the block ${this.name} was not compiled`);
    if (definition.required) {
      throw locate(renderFault(`Required block '${this.name}' not found`), this.offset);
    }
    const { exported } = run;
    if (this.locals.length > 0) run.exported = this.withLocals(frame);
    try {
      runBlock(definition, this.blocks, run);
    } catch (error) {
      throw locate(error, this.offset);
    } finally {
      run.exported = exported;
    }
  }

  private withLocals(frame: Frame): Map<string, Value> {
    const all = new Map(frame.run.exported);
    for (const { name, read } of this.locals) {
      const value = read(frame);
      if (value !== undefined) all.set(name, value);
    }
    frame.run.budget.allocate(all.size);
    return all;
  }
}

/** `{% autoescape value %}…{% endautoescape %}` */
export class AutoescapeNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly value: Evaluate,
    private readonly enter: (frame: Frame) => void,
    private readonly body: readonly JinjaNode[],
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const { run } = frame;
    const { autoescape } = run;
    this.enter(frame);
    run.autoescape = isTrue(this.value(frame));
    try {
      executeAll(this.body, frame);
    } finally {
      run.autoescape = autoescape;
    }
  }
}

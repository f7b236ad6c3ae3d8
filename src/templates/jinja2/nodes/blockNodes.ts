import { BoundedEmitter } from '../../emitter.js';
import { blame, locate, renderFault } from '../../errors.js';
import { Callable } from '../../values/callable.js';
import { isTrue } from '../../values/truth.js';
import { Markup, PyObject, Undefined } from '../../values/value.js';
import type { Value } from '../../values/value.js';
import { Frame } from '../runtime.js';
import type { BlockDefinition, Evaluate, Names, Run } from '../runtime.js';
import { executeAll, JinjaNode } from './node.js';

function runBlock(stack: readonly BlockDefinition[], depth: number, run: Run): void {
  const definition = stack[depth];
  if (definition === undefined) throw new Error('a block reference points at a definition');
  const { selfSlot, superSlot, origin } = definition;
  run.budget.enterCall();
  try {
    const frame = new Frame(run, definition.slotCount());
    if (selfSlot !== undefined) frame.slots[selfSlot] = new TemplateReference(run);
    if (superSlot !== undefined) frame.slots[superSlot] = blockAt(stack, depth + 1, run);
    definition.enter(frame);
    executeAll(definition.body, frame);
  } catch (error) {
    throw blame(error, origin);
  }
  run.budget.leaveCall();
}

/** `super`: the next definition in the stack, if any. */
function blockAt(stack: readonly BlockDefinition[], depth: number, run: Run): Value {
  if (depth < stack.length) return new BlockReference(stack, depth, run);
  return new Undefined(`there is no parent block called '${stack[0]?.name ?? ''}'.`);
}

/** A block as a value: `self.name`, `super`. */
class BlockReference extends Callable {
  readonly typeName = 'BlockReference';
  constructor(
    private readonly stack: readonly BlockDefinition[],
    private readonly depth: number,
    private readonly run: Run,
  ) {
    super();
  }

  override attribute(name: string): Value | undefined {
    return name === 'super' ? blockAt(this.stack, this.depth + 1, this.run) : undefined;
  }

  override call(): Value {
    const { run } = this;
    const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () =>
      runBlock(this.stack, this.depth, run),
    );
    return run.autoescape ? new Markup(text) : text;
  }
}

/** `self`: the template's blocks, callable by name. */
export class TemplateReference extends PyObject {
  readonly typeName = 'TemplateReference';
  constructor(private readonly run: Run) {
    super();
  }

  override attribute(name: string): Value | undefined {
    const stack = this.run.blocks.get(name);
    return stack && new BlockReference(stack, 0, this.run);
  }
}

/** A variable visible at a statement, which another template or a scoped block can see. */
export interface Local {
  readonly name: string;
  readonly read: (frame: Frame) => Value | undefined;
}

/** The variables that have a value. */
export function readLocals(locals: readonly Local[], frame: Frame): Names {
  const names = new Map<string, Value>();
  for (const { name, read } of locals) {
    const value = read(frame);
    if (value !== undefined) names.set(name, value);
  }
  return names;
}

/** `{% block name %}…{% endblock %}`: prints the most derived definition. */
export class BlockNode extends JinjaNode {
  constructor(
    source: string,
    offset: number,
    private readonly name: string,
    private readonly required: boolean,
    /** Undefined for a block that isn't scoped. */
    private readonly locals: readonly Local[] | undefined,
  ) {
    super(source, offset);
  }

  override execute(frame: Frame): void {
    const { run } = frame;
    const stack = run.blocks.get(this.name);
    if (stack === undefined) throw new Error(`the block ${this.name} was not compiled`);
    if (this.required && stack.length <= 1)
      throw locate(renderFault(`Required block '${this.name}' not found`), this.offset);
    try {
      if (this.locals === undefined || this.locals.length === 0) runBlock(stack, 0, run);
      else runBlock(stack, 0, run.derived(readLocals(this.locals, frame)));
    } catch (error) {
      throw locate(error, this.offset);
    }
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

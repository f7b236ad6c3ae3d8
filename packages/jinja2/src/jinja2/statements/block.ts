import { BoundedEmitter } from '../../emitter.js';
import { blame, locate, renderFault } from '../../errors.js';
import { Callable } from '../../values/callable.js';
import { Markup, PyObject, Undefined, type Value } from '../../values/value.js';
import { executeAll, Frame, type BlockDefinition, type Execute, type Names, type Run } from '../runtime.js';

function runBlock(stack: readonly BlockDefinition[], depth: number, run: Run): void {
  const definition = stack[depth];
  if (definition === undefined) throw new Error('a block reference points at a definition');
  const { selfSlot, superSlot, origin } = definition;
  run.budget.enterCall();
  try {
    const frame = new Frame(run, definition.slotCount);
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

  override repr(): string {
    return '<TemplateReference None>';
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

/**
 * `{% block name %}…{% endblock %}`: prints the most derived definition.
 * @param locals none for a block that isn't scoped
 */
export function printBlock(
  { name, required, offset }: { readonly name: string; readonly required: boolean; readonly offset: number },
  locals: readonly Local[],
): Execute {
  return (frame) => {
    const { run } = frame;
    const stack = run.blocks.get(name);
    if (stack === undefined) throw new Error(`the block ${name} was not compiled`);
    try {
      if (required && stack.length <= 1) throw renderFault(`Required block '${name}' not found`);
      runBlock(stack, 0, locals.length === 0 ? run : run.derived(readLocals(locals, frame)));
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

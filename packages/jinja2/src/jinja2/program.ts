import { blame } from '../errors.js';
import { PyObject } from '../values/value.js';
import { executeAll, Frame, type Program, type Run } from './runtime.js';
import { TemplateReference } from './statements/block.js';

/** The layout that a template extends, once it does; stored in its `parentSlot`. */
export class Parent extends PyObject {
  readonly typeName = 'Template';
  constructor(readonly program: Program) {
    super();
  }
}

/** Creates the frame in which a template's statements are executed. */
export function enterProgram(program: Program, run: Run): Frame {
  const { selfSlot } = program;
  const frame = new Frame(run, program.slotCount);
  if (selfSlot !== undefined) frame.slots[selfSlot] = new TemplateReference(run);
  program.enter(frame);
  return frame;
}

/** Called after a template's statements were executed: prints the layout that it extends, if any. */
export function leaveProgram({ parentSlot }: Program, frame: Frame): void {
  const parent = parentSlot === undefined ? undefined : frame.slots[parentSlot];
  if (parent instanceof Parent) runLayout(parent.program, frame.run);
}

/** Executes a template that another one loads, with its own context. */
export function runProgram(program: Program, run: Run): void {
  run.blocks = program.blocks;
  runLayout(program, run);
}

function runLayout(program: Program, run: Run): void {
  run.budget.enterCall();
  run.budget.allocate(program.slotCount + 1);
  try {
    const frame = enterProgram(program, run);
    executeAll(program.body, frame);
    leaveProgram(program, frame);
  } catch (error) {
    throw blame(error, program.origin);
  }
  run.budget.leaveCall();
}

import { BoundedEmitter } from '../../emitter.js';
import { Fault, renderFault } from '../../errors.js';
import { toList } from '../../values/iterate.js';
import { isText, PyObject, textOf, typeName, Undefined, type Value } from '../../values/value.js';
import { Parent, runProgram } from '../program.js';
import type { Evaluate, Execute, Frame, Program, Run } from '../runtime.js';
import { readLocals, type Local } from './block.js';

function missing(what: string): Error {
  return renderFault(`no layout named ${what}`);
}

/** Finds a layout by name, always among those passed to the template. @throws Fault */
function findLayout(name: Value, run: Run): Program | undefined {
  if (name instanceof Undefined) throw name.fault();
  if (!isText(name)) throw renderFault(`the name of a layout must be text, not ${typeName(name)}`);
  const layout = run.rendering.layouts.get(textOf(name));
  if (layout instanceof Fault) throw layout;
  return layout;
}

function requireLayout(name: Value, run: Run): Program {
  const program = findLayout(name, run);
  if (program === undefined) throw missing(`'${isText(name) ? textOf(name) : ''}'`);
  return program;
}

/** The first of several layouts that exists. */
function selectLayout(names: readonly Value[], run: Run): Program | undefined {
  for (const name of names) {
    run.budget.step();
    const program = isText(name) ? findLayout(name, run) : undefined;
    if (program !== undefined) return program;
  }
  return undefined;
}

/** `{% extends layout %}` */
export function extend(layout: Evaluate, parentSlot: number): Execute {
  return (frame) => {
    const { run } = frame;
    if (frame.slots[parentSlot] !== undefined) throw renderFault('extended multiple times');
    const program = requireLayout(layout(frame), run);
    run.extendBlocks(program.blocks);
    frame.slots[parentSlot] = new Parent(program);
  };
}

/** The run of a layout. @param locals undefined without context */
function runOf(out: BoundedEmitter, locals: readonly Local[] | undefined, frame: Frame): Run {
  return locals ? frame.run.including(out, readLocals(locals, frame)) : frame.run.apart(out);
}

/** `{% include layout %}` @param locals undefined without context */
export function include(
  layout: Evaluate,
  ignoreMissing: boolean,
  locals: readonly Local[] | undefined,
): Execute {
  return (frame) => {
    const { run } = frame;
    const wanted = layout(frame);
    const isOne = isText(wanted) || wanted instanceof Undefined;
    const names = isOne || wanted === null ? [] : toList(wanted, run.budget);
    const program = isOne ? findLayout(wanted, run) : selectLayout(names, run);
    if (program !== undefined) runProgram(program, runOf(run.out, locals, frame));
    else if (!ignoreMissing) {
      throw missing(isText(wanted) ? `'${textOf(wanted)}'` : `as one of ${names.length} names`);
    }
  };
}

/** An imported layout: its attributes are the names assigned at its top level, and it prints the layout's output. */
class TemplateModule extends PyObject {
  readonly typeName = 'TemplateModule';
  constructor(
    readonly program: Program,
    private readonly run: Run,
    private readonly body: string,
  ) {
    super();
  }

  override attribute(name: string): Value | undefined {
    if (name.startsWith('_') || this.run.imported.has(name)) return undefined;
    return this.run.vars.get(name);
  }

  override markup(): string {
    this.run.budget.allocate(this.body.length);
    return this.body;
  }

  override repr(print: (value: Value) => string): string {
    return `<TemplateModule ${print(this.program.origin.name ?? null)}>`;
  }
}

/** @param locals undefined without context */
function importLayout(layout: Evaluate, locals: readonly Local[] | undefined, frame: Frame): TemplateModule {
  const { run } = frame;
  const { modules } = run.rendering;
  const program = requireLayout(layout(frame), run);
  const known = locals === undefined ? modules.get(program) : undefined;
  if (known instanceof TemplateModule) return known;
  const out = new BoundedEmitter(run.budget.limits.outputLength);
  const imported = runOf(out, locals, frame);
  runProgram(program, imported);
  run.budget.allocate(out.buffer.length);
  const module = new TemplateModule(program, imported, out.buffer);
  if (locals === undefined) modules.set(program, module);
  return module;
}

/** A variable that an import sets. */
export interface ImportTarget {
  readonly name: string;
  readonly slot: number;
  /** Whether it is at the template's top level, whose names other templates may see. */
  readonly isTopLevel: boolean;
}

function assign({ name, slot, isTopLevel }: ImportTarget, value: Value, frame: Frame): void {
  frame.slots[slot] = value;
  if (!isTopLevel) return;
  frame.run.vars.set(name, value);
  frame.run.imported.add(name);
}

/** `{% import layout as name %}` */
export function importModule(
  layout: Evaluate,
  target: ImportTarget,
  locals: readonly Local[] | undefined,
): Execute {
  return (frame) => assign(target, importLayout(layout, locals, frame), frame);
}

/** `{% from layout import name, other as alias %}` */
export function importNames(
  layout: Evaluate,
  names: readonly { readonly name: string; readonly target: ImportTarget }[],
  locals: readonly Local[] | undefined,
): Execute {
  return (frame) => {
    const module = importLayout(layout, locals, frame);
    const layoutName = module.program.origin.name ?? '';
    for (const { name, target } of names) {
      const absent = `the layout '${layoutName}' does not export the requested name '${name}'`;
      assign(target, module.attribute(name) ?? new Undefined(absent), frame);
    }
  };
}

import { locate, renderFault, type Fault, type Origin } from '../errors.js';
import type { BoundedEmitter } from '../emitter.js';
import type { Budget } from '../limits.js';
import { FILTERS } from '../filters/filters.js';
import { getAttribute, getItem } from '../values/attributes.js';
import type { CallArguments, Evaluation } from '../values/callable.js';
import { Dict } from '../values/dict.js';
import type { Value } from '../values/value.js';
import { GLOBALS } from './globals.js';
import { PREDICATES } from './predicates.js';

/** A compiled template. */
export interface Program {
  readonly origin: Origin;
  readonly body: readonly Execute[];
  readonly slotCount: number;
  readonly enter: Execute;
  /** The slot of `self`, if the template uses it. */
  readonly selfSlot: number | undefined;
  /** The slot of the layout that it extends, if it may extend one. */
  readonly parentSlot: number | undefined;
  /** The template's own blocks, each alone in its stack. */
  readonly blocks: BlockStacks;
}

/** A compiled `{% block %}`: a function without parameters. */
export interface BlockDefinition {
  readonly name: string;
  readonly origin: Origin;
  readonly slotCount: number;
  /** The slots of `self` and `super`, if the body uses them. */
  readonly selfSlot: number | undefined;
  readonly superSlot: number | undefined;
  readonly enter: Execute;
  readonly body: readonly Execute[];
}

/** The definitions of each block in a template and the layouts it extends, most derived first. */
export type BlockStacks = ReadonlyMap<string, readonly BlockDefinition[]>;

/** State shared by all templates of one render. */
export interface Rendering {
  readonly budget: Budget;
  /** Whether autoescape is on at the beginning of a template. */
  readonly escaping: boolean;
  readonly ownsContext: boolean;
  readonly layouts: Layouts;
  /** Layouts imported without context: each runs once. */
  readonly modules: Map<Program, Value>;
}

/** The layouts that templates may load, by name, or the error of one that doesn't compile. */
export type Layouts = ReadonlyMap<string, Program | Fault>;

/** Names with their values, overriding the context's. */
export type Names = ReadonlyMap<string, Value>;

/**
 * Jinja2's context: what the frames of a template share with those of the layouts it extends. An included or imported
 * template has its own.
 */
export class Run implements Evaluation {
  readonly budget: Budget;
  readonly ownsContext: boolean;
  /** Names assigned at the template's top level, readable by blocks, included templates and importing templates. */
  readonly vars = new Map<string, Value>();
  /** The names in `vars` that importing templates don't see, because they were themselves imported. */
  readonly imported = new Set<string>();
  /** The definitions of each block, most derived first. */
  blocks: BlockStacks = NO_BLOCKS;

  constructor(
    readonly rendering: Rendering,
    /** The current output; replaced while the output of a macro or block is captured. */
    public out: BoundedEmitter,
    public autoescape: boolean,
    readonly context: Dict,
    /** Names from the including template, which take precedence over the context. */
    private readonly inherited: Names = NO_NAMES,
  ) {
    this.budget = rendering.budget;
    this.ownsContext = rendering.ownsContext;
  }

  /** The run of a template that is included, or imported with context. */
  including(out: BoundedEmitter, locals: Names): Run {
    const { rendering, context } = this;
    return new Run(rendering, out, rendering.escaping, context, this.names(locals));
  }

  /** The run of a template that sees nothing of this one. */
  apart(out: BoundedEmitter): Run {
    return new Run(this.rendering, out, this.rendering.escaping, Dict.of());
  }

  /** The run of a scoped block. */
  derived(locals: Names): Run {
    const run = new Run(this.rendering, this.out, this.autoescape, this.context, this.names(locals));
    run.blocks = this.blocks;
    return run;
  }

  private names(locals: Names): Names {
    const { inherited, vars } = this;
    if (vars.size + locals.size === 0) return inherited;
    this.budget.allocate(inherited.size + vars.size + locals.size);
    return new Map([...inherited, ...vars, ...locals]);
  }

  /** Assigns a name at the template's top level. */
  setVar(name: string, value: Value): void {
    this.vars.set(name, value);
    this.imported.delete(name);
  }

  /** Adds the blocks of a layout below the existing ones. */
  extendBlocks(blocks: BlockStacks): void {
    const merged = new Map(this.blocks);
    for (const [name, stack] of blocks) merged.set(name, [...(merged.get(name) ?? []), ...stack]);
    this.budget.allocate(merged.size);
    this.blocks = merged;
  }

  /** Resolves a name that no scope of the template assigns. */
  resolve(name: string): Value | undefined {
    const assigned = this.vars.get(name);
    if (assigned !== undefined) return assigned;
    const inherited = this.inherited.get(name);
    if (inherited !== undefined) return inherited;
    const value = this.context.get(name);
    return value === undefined ? GLOBALS.get(name) : value;
  }

  contextValue(name: string): Value | undefined {
    return this.resolve(name);
  }

  attribute(target: Value, name: string): Value {
    return getAttribute(target, name, this.budget);
  }

  item(target: Value, key: Value): Value {
    return getItem(target, key, this.budget);
  }

  hasFilter(name: string): boolean {
    return FILTERS.has(name);
  }

  hasTest(name: string): boolean {
    return PREDICATES.has(name);
  }

  callFilter(name: string, input: Value, args: CallArguments): Value {
    const filter = FILTERS.get(name);
    if (filter === undefined) throw renderFault(`No filter named '${name}'.`);
    return filter(input, args, this);
  }

  callTest(name: string, input: Value, args: CallArguments): boolean {
    const predicate = PREDICATES.get(name);
    if (predicate === undefined) throw renderFault(`No test named '${name}'.`);
    return predicate(input, args, this);
  }

  /** Captures what `write` prints. */
  capture(emitter: BoundedEmitter, write: () => void): string {
    const { out } = this;
    this.out = emitter;
    try {
      write();
    } finally {
      this.out = out;
    }
    this.budget.allocate(emitter.buffer.length);
    return emitter.buffer;
  }
}

const NO_NAMES: Names = new Map();
const NO_BLOCKS: BlockStacks = new Map();

/** The variables of one call of a function: the template itself, a macro, a block or a recursive loop. */
export class Frame {
  readonly slots: (Value | undefined)[];
  /** The frame of the function around this one; the outermost frame is its own. */
  readonly parent: Frame;

  constructor(
    readonly run: Run,
    slotCount: number,
    parent?: Frame,
  ) {
    this.slots = new Array<Value | undefined>(slotCount).fill(undefined);
    this.parent = parent ?? this;
  }
}

/** A compiled expression. */
export type Evaluate = (frame: Frame) => Value;

/** A compiled statement: prints to the run's emitter, or changes variables. */
export type Execute = (frame: Frame) => void;

/** Runs statements one after the other. */
export function executeAll(statements: readonly Execute[], frame: Frame): void {
  for (const execute of statements) {
    frame.run.budget.step();
    execute(frame);
  }
}

/** The statement, whose faults without a position get this one. */
export function located(offset: number, execute: Execute): Execute {
  return (frame) => {
    try {
      execute(frame);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

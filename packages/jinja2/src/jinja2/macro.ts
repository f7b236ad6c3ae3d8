import { BoundedEmitter } from '../emitter.js';
import { blame, renderFault, type Origin } from '../errors.js';
import { Callable, type CallArguments, type Evaluation } from '../values/callable.js';
import { Dict } from '../values/dict.js';
import { Markup, Tuple, Undefined, type Value } from '../values/value.js';
import { executeAll, Frame, type Evaluate, type Execute } from './runtime.js';

export interface CompiledParameter {
  readonly name: string;
  readonly slot: number;
  readonly fallback: Evaluate | undefined;
}

/** A compiled macro or body of a call block. The slots of special names are set if the body uses them. */
export interface MacroDefinition {
  /** Undefined for the body of a call block. */
  readonly name: string | undefined;
  readonly origin: Origin;
  readonly parameters: readonly CompiledParameter[];
  readonly callerSlot: number | undefined;
  readonly kwargsSlot: number | undefined;
  readonly varargsSlot: number | undefined;
  readonly usesCaller: boolean;
  readonly slotCount: number;
  readonly enter: Execute;
  readonly body: readonly Execute[];
}

/** A macro as a value: its definition and its enclosing frame. */
export class Macro extends Callable {
  readonly typeName = 'Macro';

  constructor(
    private readonly definition: MacroDefinition,
    private readonly closure: Frame,
  ) {
    super();
  }

  override attribute(name: string): Value | undefined {
    const { definition } = this;
    switch (name) {
      case 'name':
        return definition.name ?? null;
      case 'arguments':
        return new Tuple(definition.parameters.map((parameter) => parameter.name));
      case 'catch_kwargs':
        return definition.kwargsSlot !== undefined;
      case 'catch_varargs':
        return definition.varargsSlot !== undefined;
      case 'caller':
        return definition.usesCaller;
      case 'explicit_caller':
        return definition.parameters.some((parameter) => parameter.name === 'caller');
      default:
        return undefined;
    }
  }

  override call(args: CallArguments, { autoescape }: Evaluation): Value {
    const { definition, closure } = this;
    const { run } = closure;
    const frame = new Frame(run, definition.slotCount, closure);
    this.bind(args, frame);
    run.budget.enterCall();
    const text = run.capture(new BoundedEmitter(run.budget.limits.outputLength), () => {
      try {
        definition.enter(frame);
        this.fillDefaults(frame);
        executeAll(definition.body, frame);
      } catch (error) {
        throw blame(error, definition.origin);
      }
    });
    run.budget.leaveCall();
    return autoescape ? new Markup(text) : text;
  }

  /** Binds the arguments to the body's slots. @throws Fault for arguments that the macro doesn't accept */
  private bind({ positional, named }: CallArguments, frame: Frame): void {
    const { parameters, callerSlot, kwargsSlot, varargsSlot } = this.definition;
    const rest = new Map(named);
    const take = (name: string) => {
      const value = rest.get(name);
      rest.delete(name);
      return value;
    };
    parameters.forEach(({ name, slot }, i) => {
      frame.slots[slot] = i < positional.length ? positional[i] : take(name);
    });
    if (callerSlot !== undefined) {
      const caller = take('caller');
      frame.slots[callerSlot] =
        caller === undefined || caller === null ? new Undefined('No caller defined') : caller;
    }
    if (kwargsSlot !== undefined) frame.slots[kwargsSlot] = Dict.of(rest);
    else this.refuseNames(rest);
    if (varargsSlot !== undefined) frame.slots[varargsSlot] = new Tuple(positional.slice(parameters.length));
    else if (positional.length > parameters.length) {
      throw renderFault(`macro '${this.label}' takes not more than ${parameters.length} argument(s)`);
    }
  }

  private refuseNames(rest: ReadonlyMap<string, Value>): void {
    for (const name of rest.keys()) {
      throw renderFault(`macro '${this.label}' takes no keyword argument '${name}'`);
    }
  }

  private fillDefaults(frame: Frame): void {
    for (const { name, slot, fallback } of this.definition.parameters) {
      if (frame.slots[slot] !== undefined) continue;
      frame.slots[slot] =
        fallback === undefined ? new Undefined(`parameter '${name}' was not provided`) : fallback(frame);
    }
  }

  private get label(): string {
    return this.definition.name ?? 'caller';
  }

  override repr(): string {
    return this.definition.name === undefined ? '<Macro anonymous>' : `<Macro '${this.definition.name}'>`;
  }
}

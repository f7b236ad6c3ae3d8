import { Undefined, type Value } from '../values/value.js';
import { nameHint } from './hints.js';
import type { Evaluate, Execute, Frame } from './runtime.js';
import { FunctionLayout, Symbols, type Variable } from './symbols.js';

/** Whether output is escaped: known at compile time, or only after `{% autoescape expression %}` has run. */
export type Escaping = boolean | 'volatile';

/** The compile-time context of an expression or statement: its names, and how it is compiled. */
export interface Scope {
  readonly symbols: Symbols;
  readonly escaping: Escaping;
  /** The template's own level, whose assignments blocks can see. */
  readonly topLevel: boolean;
  /** Within a condition, where an unknown filter is only an error when it is evaluated. */
  readonly soft: boolean;
  /** Output is suppressed once the template extends a layout, because it is outside all blocks. */
  readonly unlessExtended: boolean;
  /** A missing name, attribute or item is an error wherever it is read, except in `default` and `is defined`. */
  readonly strict: boolean;
}

/** A nested scope in the same function. */
export function innerScope(scope: Scope): Scope {
  return {
    ...scope,
    symbols: new Symbols(scope.symbols.layout, scope.symbols),
    topLevel: false,
    soft: false,
  };
}

/** The scope of a nested function. */
export function functionScope(scope: Scope): Scope {
  return {
    ...scope,
    symbols: new Symbols(new FunctionLayout(scope.symbols.layout), scope.symbols),
    topLevel: false,
    soft: false,
  };
}

/** Reads a variable from a frame of the function that `layout` describes; undefined (JavaScript's) when unset. */
export function readVariable(
  variable: Variable,
  layout: FunctionLayout,
): (frame: Frame) => Value | undefined {
  const { slot } = variable;
  const hops = layout.depth - variable.layout.depth;
  if (hops === 0) return (frame) => frame.slots[slot];
  if (hops === 1) return (frame) => frame.parent.slots[slot];
  return (frame) => {
    let at = frame;
    for (let i = 0; i < hops; i++) at = at.parent;
    return at.slots[slot];
  };
}

/** Reads a name: its value, or an Undefined with the name. */
export function readName(name: string, { symbols }: Scope): Evaluate {
  const read = readVariable(symbols.variable(name), symbols.layout);
  const absent = new Undefined(`'${name}' is undefined`, nameHint(name));
  return (frame) => {
    const value = read(frame);
    return value === undefined ? absent : value;
  };
}

/** Whether output is escaped, for results that become markup. */
export function escapes({ escaping }: Scope): (frame: Frame) => boolean {
  return escaping === 'volatile' ? ({ run }) => run.autoescape : () => escaping;
}

/** Initializes a scope's variables on entry. Call after the scope was analyzed. */
export function enterScope({ symbols }: Scope): Execute {
  const steps: Execute[] = [];
  for (const [{ slot }, load] of symbols.loads()) {
    if (load.kind === 'resolve') {
      const { name } = load;
      steps.push((frame) => {
        frame.slots[slot] = frame.run.resolve(name);
      });
    } else if (load.kind === 'alias') {
      const read = readVariable(load.of, symbols.layout);
      steps.push((frame) => {
        frame.slots[slot] = read(frame);
      });
    } else if (load.kind === 'undefined') {
      steps.push((frame) => {
        frame.slots[slot] = undefined;
      });
    }
  }
  return (frame) => {
    for (const step of steps) step(frame);
  };
}

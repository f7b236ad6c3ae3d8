import type { Budget } from '../limits.js';
import { renderFault } from '../errors.js';
import { PyObject } from './value.js';
import type { Value } from './value.js';

/** The part of a render that built-ins may access. */
export interface Evaluation {
  readonly budget: Budget;
  /** Whether output is escaped at this point; `{% autoescape %}` changes it. */
  readonly autoescape: boolean;
  /** Whether this render owns the context's lists and dicts and may mutate them. */
  readonly ownsContext: boolean;
  /** Jinja2's `target.name` and `target[key]`. */
  attribute(target: Value, name: string): Value;
  item(target: Value, key: Value): Value;
  /** The value of a name at the template's top level. */
  contextValue(name: string): Value | undefined;
  hasFilter(name: string): boolean;
  hasTest(name: string): boolean;
  /** Applies a filter or test by name, for `map`, `select` and the like. */
  callFilter(name: string, input: Value, args: CallArguments): Value;
  callTest(name: string, input: Value, args: CallArguments): boolean;
}

/** The arguments of one call. */
export interface CallArguments {
  readonly positional: readonly Value[];
  readonly named: ReadonlyMap<string, Value>;
}

/** A value that can be called. */
export abstract class Callable extends PyObject {
  abstract call(args: CallArguments, evaluation: Evaluation): Value;
}

/** The parameters of a built-in, in order; the first `required` of them must be given. */
export interface Signature {
  readonly name: string;
  readonly parameters: readonly string[];
  readonly required: number;
}

/**
 * The arguments in the order of the parameters, with JavaScript's undefined for absent ones.
 * @throws Fault for too many, unknown, repeated or missing ones.
 */
export function bindArguments(
  { name, parameters, required }: Signature,
  args: CallArguments,
): (Value | undefined)[] {
  const { positional, named } = args;
  if (positional.length > parameters.length) {
    throw renderFault(`${name}() takes at most ${parameters.length} arguments (${positional.length} given)`);
  }
  const bound: (Value | undefined)[] = [...positional];
  for (const [key, value] of named) {
    const index = parameters.indexOf(key);
    if (index < 0) throw renderFault(`${name}() got an unexpected keyword argument '${key}'`);
    if (bound[index] !== undefined) throw renderFault(`${name}() got multiple values for argument '${key}'`);
    bound[index] = value;
  }
  for (let i = 0; i < required; i++) {
    if (bound[i] === undefined)
      throw renderFault(`${name}() missing required argument: '${parameters[i] ?? ''}'`);
  }
  return bound;
}

/** How a built-in receives its arguments: bound to parameters, or raw. */
export type Invoke = (self: Value, args: CallArguments, evaluation: Evaluation) => Value;

/** A bound method, as in `{% set f = name.upper %}{{ f() }}`. */
export class BoundMethod extends Callable {
  readonly typeName = 'builtin_function_or_method';
  constructor(
    private readonly self: Value,
    private readonly invoke: Invoke,
  ) {
    super();
  }

  override call(args: CallArguments, evaluation: Evaluation): Value {
    return this.invoke(this.self, args, evaluation);
  }
}

/** A function of the template language, such as `range`. */
export class BuiltinFunction extends Callable {
  constructor(
    private readonly invoke: (args: CallArguments, evaluation: Evaluation) => Value,
    readonly typeName: string,
  ) {
    super();
  }

  override call(args: CallArguments, evaluation: Evaluation): Value {
    return this.invoke(args, evaluation);
  }
}

export type MethodTable = ReadonlyMap<string, Invoke>;

type MethodBody<Self> = (self: Self, evaluation: Evaluation, ...args: (Value | undefined)[]) => Value;

/** A method whose arguments are bound to parameters. */
export interface MethodEntry<Self extends Value> extends Omit<Signature, 'name'> {
  readonly body: MethodBody<Self>;
}

/** A method with positional-only parameters, like most of Python's built-in methods. */
export function method<Self extends Value>(body: MethodBody<Self>, most = 0, least = 0): MethodEntry<Self> {
  const parameters = Array.from({ length: most }, (_, i) => `argument ${i + 1}`);
  return { parameters, required: least, body };
}

/** A method whose parameters can also be passed by keyword. */
export function namedMethod<Self extends Value>(
  parameters: readonly string[],
  body: MethodBody<Self>,
  required = 0,
): MethodEntry<Self> {
  return { parameters, required, body };
}

/**
 * The methods of one type by name. One that takes raw arguments is given as a function.
 * @param narrow converts the receiver to the type that the bodies expect
 */
export function methodTable<Self extends Value>(
  narrow: (value: Value) => Self,
  entries: Readonly<Record<string, MethodEntry<Self> | Invoke>>,
): MethodTable {
  return new Map(
    Object.entries(entries).map(([name, entry]) => [
      name,
      typeof entry === 'function' ? entry : toInvoke(narrow, name, entry),
    ]),
  );
}

function toInvoke<Self extends Value>(
  narrow: (value: Value) => Self,
  name: string,
  { parameters, required, body }: MethodEntry<Self>,
): Invoke {
  const signature = { name, parameters, required };
  return (self, args, evaluation) => {
    const isBare = required === 0 && args.positional.length === 0 && args.named.size === 0;
    return isBare
      ? body(narrow(self), evaluation)
      : body(narrow(self), evaluation, ...bindArguments(signature, args));
  };
}

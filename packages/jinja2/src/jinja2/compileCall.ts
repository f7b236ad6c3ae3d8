import { locate, renderFault } from '../errors.js';
import { methodOf } from '../methods/methods.js';
import { getAttribute } from '../values/attributes.js';
import { Callable, type CallArguments, type Evaluation } from '../values/callable.js';
import { Dict } from '../values/dict.js';
import { toList } from '../values/iterate.js';
import { isText, PyObject, textOf, typeName, Undefined, type Value } from '../values/value.js';
import type { Arguments, Call, Expression } from './ast.js';
import type { Evaluate, Frame } from './runtime.js';
import type { Scope } from './scope.js';
import { syntaxFault } from './syntaxFault.js';

const NO_ARGUMENTS: CallArguments = { positional: Object.freeze([]), named: new Map() };

/** Compiles an expression; passed in, because expressions and calls are mutually recursive. */
export type CompileExpression = (node: Expression, scope: Scope) => Evaluate;

/** The arguments of a call, as a function of a frame. */
export function compileArguments(
  node: Arguments & { offset: number },
  scope: Scope,
  compile: CompileExpression,
): (frame: Frame) => CallArguments {
  const positional = node.positional.map((value) => compile(value, scope));
  const named = node.named.map(({ name, value }) => ({ name, value: compile(value, scope) }));
  const repeated = node.named.find(({ name }, i) =>
    node.named.slice(0, i).some((other) => other.name === name),
  );
  if (repeated !== undefined) throw syntaxFault(`keyword argument repeated: ${repeated.name}`, node.offset);
  const spread = node.spread && compile(node.spread, scope);
  const namedSpread = node.namedSpread && compile(node.namedSpread, scope);
  if (positional.length + named.length === 0 && !spread && !namedSpread) return () => NO_ARGUMENTS;
  if (named.length === 0 && !spread && !namedSpread) {
    return (frame) => ({ positional: positional.map((value) => value(frame)), named: NO_ARGUMENTS.named });
  }
  return (frame) => {
    const { budget } = frame.run;
    const values = positional.map((value) => value(frame));
    if (spread) values.push(...toList(spread(frame), budget));
    const names = new Map(named.map(({ name, value }) => [name, value(frame)]));
    if (namedSpread) spreadNames(names, namedSpread(frame));
    return { positional: values, named: names };
  };
}

function spreadNames(names: Map<string, Value>, mapping: Value): void {
  if (!(mapping instanceof Dict))
    throw renderFault(`argument after ** must be a mapping, not ${typeName(mapping)}`);
  for (const [key, value] of mapping.entries()) {
    if (!isText(key)) throw renderFault('keywords must be strings');
    const name = textOf(key);
    if (names.has(name)) throw renderFault(`got multiple values for keyword argument '${name}'`);
    names.set(name, value);
  }
}

/** A call. `extra` adds named arguments: a call block passes its body as `caller`. */
export function compileCall(
  node: Call,
  scope: Scope,
  compile: CompileExpression,
  extra?: (frame: Frame) => readonly [string, Value],
): Evaluate {
  const { callee, offset } = node;
  const given = compileArguments(node, scope, compile);
  const args = extra === undefined ? given : withExtra(given, extra);
  if (callee.kind === 'attribute') {
    return compileMethodCall(compile(callee.target, scope), callee.name, args, offset);
  }
  const target = compile(callee, scope);
  return (frame) => {
    const { run } = frame;
    run.budget.step();
    const value = target(frame);
    try {
      return callValue(value, args(frame), run);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function withExtra(
  given: (frame: Frame) => CallArguments,
  extra: (frame: Frame) => readonly [string, Value],
): (frame: Frame) => CallArguments {
  return (frame) => {
    const { positional, named } = given(frame);
    const [name, value] = extra(frame);
    if (named.has(name)) throw renderFault(`got multiple values for keyword argument '${name}'`);
    return { positional, named: new Map([...named, [name, value]]) };
  };
}

/** `target.name(…)`, without creating a bound method first. */
function compileMethodCall(
  target: Evaluate,
  name: string,
  args: (frame: Frame) => CallArguments,
  offset: number,
): Evaluate {
  return (frame) => {
    const { run } = frame;
    run.budget.step();
    const self = target(frame);
    try {
      const method =
        self instanceof PyObject && self.attribute?.(name) !== undefined ? undefined : methodOf(self, name);
      if (method !== undefined) return method(self, args(frame), run);
      return callValue(getAttribute(self, name, run.budget), args(frame), run);
    } catch (error) {
      throw locate(error, offset);
    }
  };
}

function callValue(value: Value, args: CallArguments, evaluation: Evaluation): Value {
  if (value instanceof Callable) return value.call(args, evaluation);
  if (value instanceof Undefined) throw value.fault();
  throw renderFault(`'${typeName(value)}' object is not callable`);
}

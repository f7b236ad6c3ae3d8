import { locate, renderFault } from '../errors.js';
import { iterate } from '../values/iterate.js';
import { isText, Tuple, typeName, type Value } from '../values/value.js';
import type { Target } from './ast.js';
import { Namespace } from './globals.js';
import type { Frame } from './runtime.js';
import { readVariable, type Scope } from './scope.js';

export type Assign = (frame: Frame, value: Value) => void;

/** Assigns a value to a target; a tuple unpacks the value. */
export function compileAssign(target: Target, scope: Scope): Assign {
  switch (target.kind) {
    case 'name': {
      const { slot } = scope.symbols.variable(target.name);
      return (frame, value) => {
        frame.slots[slot] = value;
      };
    }
    case 'namespace':
      return compileNamespaceAssign(target, scope);
    case 'tuple': {
      const parts = target.items.map((item) => compileAssign(item, scope));
      return (frame, value) => {
        try {
          const items = unpack(value, parts.length, frame);
          parts.forEach((assign, i) => assign(frame, items[i] ?? null));
        } catch (error) {
          throw locate(error, target.offset);
        }
      };
    }
  }
}

function compileNamespaceAssign(target: Target & { kind: 'namespace' }, scope: Scope): Assign {
  const read = readVariable(scope.symbols.variable(target.name), scope.symbols.layout);
  return (frame, value) => {
    const namespace = read(frame);
    if (!(namespace instanceof Namespace)) {
      const hint = `write {% set ${target.name} = namespace(…) %} first`;
      throw locate(renderFault('cannot assign attribute on non-namespace object', hint), target.offset);
    }
    frame.run.budget.allocate(1);
    namespace.set(target.attribute, value);
  };
}

/** Exactly `count` items of an iterable, as Python unpacks. */
function unpack(value: Value, count: number, { run }: Frame): readonly Value[] {
  const items: Value[] = [];
  // A loop over a dict gives its keys.
  const hint = isText(value) ? 'write for key, value in x.items()' : undefined;
  for (const item of unpackable(value, run.budget)) {
    if (items.length === count) throw renderFault(`too many values to unpack (expected ${count})`, hint);
    items.push(item);
  }
  if (items.length < count)
    throw renderFault(`not enough values to unpack (expected ${count}, got ${items.length})`, hint);
  return items;
}

function unpackable(value: Value, budget: Frame['run']['budget']): Iterable<Value> {
  try {
    return iterate(value, budget);
  } catch {
    throw renderFault(`cannot unpack non-iterable ${typeName(value)} object`);
  }
}

/** A target's current value, for a filtered loop: a name's value, or a tuple of them. */
export function readTarget(target: Target, scope: Scope): (frame: Frame) => Value {
  if (target.kind === 'tuple') {
    const parts = target.items.map((item) => readTarget(item, scope));
    return (frame) => new Tuple(parts.map((part) => part(frame)));
  }
  const read = readVariable(scope.symbols.variable(target.name), scope.symbols.layout);
  return (frame) => read(frame) ?? null;
}

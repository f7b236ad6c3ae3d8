import { DICT_METHODS } from '../methods/dictMethods.js';
import type { Arguments, Expression, Statement, Target } from './ast.js';
import { GLOBALS } from './globals.js';
import { argumentsOf, NONE, partsOf, stepsOf } from './walk.js';

/** A context value that a template reads, with the position in its source. */
export interface OffsetRead {
  /** A path of names; ITEM stands for the items of a list. */
  readonly path: readonly string[];
  readonly offset: number;
  /** Yields a method of dicts, whatever the context has under that name. */
  readonly isMethod: boolean;
}

const ITEM = '[]';
/** A longer path is of no known value: assignments could lengthen it with each statement. */
const MAX_PATH_NAMES = 100;

/** A value at a known path of the context, or undefined for an unknown value. */
type Known = readonly string[] | undefined;
type Names = ReadonlyMap<string, Known>;

/** Filters whose result contains the items of their input. */
const SAME_ITEMS = new Set([
  'sort',
  'reverse',
  'list',
  'unique',
  'selectattr',
  'rejectattr',
  'select',
  'reject',
  'default',
  'd',
]);
const ONE_ITEM = new Set(['first', 'last', 'random', 'min', 'max']);
const MAY_BE_MISSING = new Set(['defined', 'undefined']);

/**
 * What the statements read, as far as that can be determined statically: through loops, assignments and filters that pass
 * items on. Values tested with `default` or `is defined` may be missing, and are excluded.
 */
export function readsOf(statements: readonly Statement[]): readonly OffsetRead[] {
  const reader = new Reader();
  reader.all(statements, new Map());
  // A layout may assign what the blocks of the template read.
  const mayAssign = statements.some(({ kind }) => kind === 'extends');
  return mayAssign ? reader.reads.filter(({ path }) => path.length > 1) : reader.reads;
}

class Reader {
  readonly reads: OffsetRead[] = [];

  /** @returns the names in scope after the statements */
  all(statements: readonly Statement[], names: Names): Names {
    return statements.reduce((known, statement) => this.#statement(statement, known), names);
  }

  #statement(node: Statement, names: Names): Names {
    if (node.kind === 'if') {
      const bodies = [node, ...node.elifs].map(({ test, body }) => {
        this.#value(test, names);
        return this.all(body, names);
      });
      return unsure(names, [...bodies, this.all(node.otherwise, names)]);
    }
    let after = node.kind === 'macro' ? withUnknown(names, [node.name]) : names;
    let inner = withUnknown(names, IMPLICIT_NAMES[node.kind] ?? []);
    const steps = stepsOf(node);
    for (const { read, assign = NONE, isInner = false } of steps) {
      if (!('layout' in node)) this.#value(read, isInner ? inner : names);
      for (const { target, value, isLoop } of assign) {
        const path = this.#value(value, names);
        const known = isLoop ? path && [...path, ITEM] : path;
        if (isInner) inner = bound(inner, target, known);
        else after = bound(after, target, known);
      }
    }
    // Last, because a loop's condition is evaluated before its body.
    for (const { body = NONE, isInner = false } of steps) this.all(body, isInner ? inner : names);
    return after;
  }

  /** Records what the expression reads. @returns the path of its value */
  #value(node: Expression | undefined, names: Names): Known {
    if (node === undefined) return undefined;
    const path = this.#path(node, names);
    if (path !== undefined && path.length > MAX_PATH_NAMES) return undefined;
    if (path !== undefined && isLookup(node)) {
      const isMethod = node.kind === 'attribute' && DICT_METHODS.has(node.name);
      this.reads.push({ path, offset: node.offset, isMethod });
    }
    return path;
  }

  /** As `#value`; the lookup itself may fail. */
  #path(node: Expression, names: Names): Known {
    switch (node.kind) {
      case 'name':
        if (names.has(node.name)) return names.get(node.name);
        return GLOBALS.has(node.name) || node.name === 'self' ? undefined : [node.name];
      case 'attribute': {
        const target = this.#value(node.target, names);
        return target && [...target, node.name];
      }
      case 'item': {
        const target = this.#value(node.target, names);
        this.#value(node.key, names);
        if (!target || node.key.kind !== 'constant') return undefined;
        return typeof node.key.value === 'string' ? [...target, node.key.value] : [...target, ITEM];
      }
      case 'slice': {
        for (const part of [node.start, node.stop, node.step]) this.#value(part, names);
        return this.#value(node.target, names);
      }
      case 'filter':
        return this.#filtered(node, names);
      case 'test':
        if (MAY_BE_MISSING.has(node.name)) this.#path(node.input, names);
        else this.#value(node.input, names);
        this.#arguments(node, names);
        return undefined;
      case 'call':
        // A method is not a value of the context.
        if (node.callee.kind === 'attribute') this.#value(node.callee.target, names);
        else this.#path(node.callee, names);
        this.#arguments(node, names);
        return undefined;
      case 'conditional': {
        this.#value(node.test, names);
        const [then, otherwise] = [this.#value(node.then, names), this.#value(node.otherwise, names)];
        return node.otherwise === undefined || String(then) === String(otherwise) ? then : undefined;
      }
      default:
        for (const part of partsOf(node)) this.#value(part, names);
        return undefined;
    }
  }

  #filtered(node: Expression & { readonly kind: 'filter' }, names: Names): Known {
    const mayBeMissing = node.name === 'default' || node.name === 'd';
    const input =
      node.input && (mayBeMissing ? this.#path(node.input, names) : this.#value(node.input, names));
    this.#arguments(node, names);
    if (!input) return undefined;
    if (SAME_ITEMS.has(node.name)) return input;
    return ONE_ITEM.has(node.name) ? [...input, ITEM] : undefined;
  }

  #arguments(given: Arguments | undefined, names: Names): void {
    for (const value of given ? argumentsOf(given) : []) this.#value(value, names);
  }
}

const OF_FUNCTIONS = ['caller', 'varargs', 'kwargs', 'super'];
/** What is defined in the body of a statement besides what the statement assigns. */
const IMPLICIT_NAMES: Partial<Record<Statement['kind'], readonly string[]>> = {
  for: ['loop'],
  macro: OF_FUNCTIONS,
  callBlock: OF_FUNCTIONS,
};

function withUnknown(names: Names, unknown: readonly string[]): Names {
  return unknown.length === 0
    ? names
    : new Map([...names, ...unknown.map((name) => [name, undefined] as const)]);
}

function isLookup({ kind }: Expression): boolean {
  return kind === 'name' || kind === 'attribute' || kind === 'item';
}

function bound(names: Names, target: Target, value: Known): Names {
  if (target.kind === 'name') return new Map([...names, [target.name, value]]);
  if (target.kind === 'namespace') return names;
  return target.items.reduce<Names>((known, item) => bound(known, item, undefined), names);
}

/** After branches, a name assigned in any of them is unknown. */
function unsure(before: Names, branches: readonly Names[]): Names {
  const assigned = branches.flatMap((names) =>
    [...names].filter(([name, value]) => before.get(name) !== value || !before.has(name)),
  );
  return withUnknown(
    before,
    assigned.map(([name]) => name),
  );
}

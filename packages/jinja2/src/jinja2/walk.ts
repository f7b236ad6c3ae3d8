import type { Arguments, CallBlock, Expression, Macro, Name, Statement, Target } from './ast.js';

/** The expressions that an expression consists of. */
export function partsOf(node: Expression): readonly (Expression | undefined)[] {
  switch (node.kind) {
    case 'constant':
    case 'name':
      return [];
    case 'list':
    case 'tuple':
      return node.items;
    case 'dict':
      return node.entries.flat();
    case 'unary':
      return [node.operand];
    case 'binary':
    case 'logical':
      return [node.left, node.right];
    case 'concat':
      return node.parts;
    case 'compare':
      return [node.first, ...node.rest.map(({ operand }) => operand)];
    case 'attribute':
      return [node.target];
    case 'item':
      return [node.target, node.key];
    case 'slice':
      return [node.target, node.start, node.stop, node.step];
    case 'call':
      return [node.callee, ...argumentsOf(node)];
    case 'filter':
    case 'test':
      return [node.input, ...argumentsOf(node)];
    case 'conditional':
      return [node.test, node.then, node.otherwise];
  }
}

export function argumentsOf(given: Arguments): readonly (Expression | undefined)[] {
  return [...given.positional, ...given.named.map(({ value }) => value), given.spread, given.namedSpread];
}

/** What a statement assigns to a target. */
export interface Binding {
  readonly target: Target;
  /** Undefined if it is no expression. It is read outside the scope that the statement opens. */
  readonly value?: Expression;
  /** The target is assigned each item of the value. */
  readonly isLoop?: boolean;
}

/** Of a step that assigns or contains nothing. */
export const NONE: readonly never[] = [];

/** A part of a statement: what it reads, assigns or contains. */
export interface Step {
  readonly read?: Expression | undefined;
  readonly assign?: readonly Binding[];
  readonly body?: readonly Statement[];
  /** It belongs to the scope that the statement opens. */
  readonly isInner?: boolean;
}

type Steps<K> = (node: Extract<Statement, { readonly kind: K }>) => readonly Step[];

const STEPS: { readonly [K in Statement['kind']]: Steps<K> } = {
  output: ({ parts }) => parts.map((part) => ({ read: part.kind === 'data' ? undefined : part })),
  if: (node) => [
    ...[node, ...node.elifs].flatMap(({ test, body }) => [{ read: test }, { body }]),
    { body: node.otherwise },
  ],
  for: ({ target, iterable, test, body, otherwise }) => [
    { assign: [{ target, value: iterable, isLoop: true }], isInner: true },
    { body, isInner: true },
    { body: otherwise },
    { read: test, isInner: true },
  ],
  set: (node) => [{ assign: [node] }],
  setBlock: ({ target, filter, body }) => [
    { assign: [{ target }] },
    { read: filter, isInner: true },
    { body, isInner: true },
  ],
  with: ({ bindings, body }) => [
    { assign: bindings, isInner: true },
    { body, isInner: true },
  ],
  macro: stepsOfFunction,
  callBlock: (node) => [{ read: node.call }, ...stepsOfFunction(node)],
  filterBlock: ({ filter, body }) => [{ body, isInner: true }, { read: filter }],
  autoescape: ({ value, body }) => [
    { read: value, isInner: true },
    { body, isInner: true },
  ],
  block: ({ body }) => [{ body, isInner: true }],
  extends: ({ layout }) => [{ read: layout }],
  include: ({ layout }) => [{ read: layout }],
  import: ({ layout, target, offset }) => [
    { read: layout },
    { assign: [bindingOf({ name: target, offset })] },
  ],
  fromImport: ({ layout, names, offset }) => [
    { read: layout },
    { assign: names.map(({ target }) => bindingOf({ name: target, offset })) },
  ],
};

/** The parts of a statement, in Jinja2's order. */
export function stepsOf(node: Statement): readonly Step[] {
  return (STEPS[node.kind] as Steps<Statement['kind']>)(node);
}

function stepsOfFunction({ parameters, body }: Macro | CallBlock): readonly Step[] {
  return [
    { assign: parameters.map(bindingOf), isInner: true },
    ...parameters.map(({ fallback }) => ({ read: fallback, isInner: true })),
    { body, isInner: true },
  ];
}

function bindingOf({ name, offset }: Pick<Name, 'name' | 'offset'>): Binding {
  return { target: { kind: 'name', name, offset } };
}

/** Visits every name that an expression reads. */
export function forEachName(node: Expression | undefined, visit: (name: string) => void): void {
  if (node === undefined) return;
  if (node.kind === 'name') visit(node.name);
  else for (const part of partsOf(node)) forEachName(part, visit);
}

/** Whether an expression depends on more than its own literals. */
export function readsNames(node: Expression): boolean {
  let reads = false;
  forEachName(node, () => (reads = true));
  return reads;
}

/** The names that a target assigns; an attribute of a namespace is none. */
export function targetNames(target: Target): readonly string[] {
  if (target.kind === 'tuple') return target.items.flatMap(targetNames);
  return target.kind === 'name' ? [target.name] : [];
}

/** What happens with names that are read or assigned. */
export interface NameHandlers {
  readonly read: (name: string) => void;
  readonly assign: (name: string) => void;
}

/** Visits every name in statements and their children; blocks are not entered. */
export function walkNames(statements: readonly Statement[], handlers: NameHandlers): void {
  for (const node of statements) {
    if (node.kind === 'block') continue;
    for (const { read, assign = NONE, body = NONE } of stepsOf(node)) {
      forEachName(read, handlers.read);
      for (const { target } of assign) targetNames(target).forEach(handlers.assign);
      for (const { value } of assign) forEachName(value, handlers.read);
      walkNames(body, handlers);
    }
  }
}

/** The special names that the statements read before assigning them. */
export function undeclaredNames(
  statements: readonly Statement[],
  names: readonly string[],
): ReadonlySet<string> {
  const wanted = new Set(names);
  const found = new Set<string>();
  walkNames(statements, {
    read: (name) => {
      if (wanted.has(name)) found.add(name);
    },
    assign: (name) => {
      wanted.delete(name);
    },
  });
  return found;
}

/** All statements, at any depth. */
export function* allStatements(statements: readonly Statement[]): Generator<Statement> {
  for (const node of statements) {
    yield node;
    if ('body' in node) for (const { body = NONE } of stepsOf(node)) yield* allStatements(body);
  }
}

/** All blocks in the statements, at any depth. */
export function* findBlocks(statements: readonly Statement[]): Generator<Statement & { kind: 'block' }> {
  for (const node of allStatements(statements)) if (node.kind === 'block') yield node;
}

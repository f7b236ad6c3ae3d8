import type { Arguments, Expression, Parameter, Statement, Target } from './ast.js';

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

/** Visits names that are read or assigned. */
export interface NameVisitor {
  readonly read: (name: string) => void;
  readonly assign: (name: string) => void;
}

/** Visits every name in statements and their children, in Jinja2's order; blocks are not entered. */
export function walkStatements(statements: readonly Statement[], visitor: NameVisitor): void {
  for (const statement of statements) walkStatement(statement, visitor);
}

function walkStatement(node: Statement, visitor: NameVisitor): void {
  const read = (expression: Expression | undefined): void => forEachName(expression, visitor.read);
  const assign = (target: Target): void => targetNames(target).forEach(visitor.assign);
  switch (node.kind) {
    case 'output':
      for (const part of node.parts) if (part.kind !== 'data') read(part);
      return;
    case 'if':
      read(node.test);
      walkStatements(node.body, visitor);
      for (const { test, body } of node.elifs) {
        read(test);
        walkStatements(body, visitor);
      }
      walkStatements(node.otherwise, visitor);
      return;
    case 'for':
      assign(node.target);
      read(node.iterable);
      walkStatements(node.body, visitor);
      walkStatements(node.otherwise, visitor);
      read(node.test);
      return;
    case 'set':
      assign(node.target);
      read(node.value);
      return;
    case 'setBlock':
      assign(node.target);
      read(node.filter);
      walkStatements(node.body, visitor);
      return;
    case 'with':
      for (const { target } of node.bindings) assign(target);
      for (const { value } of node.bindings) read(value);
      walkStatements(node.body, visitor);
      return;
    case 'macro':
      walkParameters(node.parameters, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'callBlock':
      read(node.call);
      walkParameters(node.parameters, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'filterBlock':
      walkStatements(node.body, visitor);
      read(node.filter);
      return;
    case 'autoescape':
      read(node.value);
      walkStatements(node.body, visitor);
      return;
    case 'extends':
    case 'include':
      read(node.layout);
      return;
    case 'import':
      read(node.layout);
      visitor.assign(node.target);
      return;
    case 'fromImport':
      read(node.layout);
      for (const { target } of node.names) visitor.assign(target);
      return;
    case 'block':
      return;
  }
}

function walkParameters(parameters: readonly Parameter[], visitor: NameVisitor): void {
  for (const { name } of parameters) visitor.assign(name);
  for (const { fallback } of parameters) forEachName(fallback, visitor.read);
}

/** The special names that the statements read before assigning them. */
export function undeclaredNames(
  statements: readonly Statement[],
  names: readonly string[],
): ReadonlySet<string> {
  const wanted = new Set(names);
  const found = new Set<string>();
  walkStatements(statements, {
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
    if ('body' in node) yield* allStatements(node.body);
    if (node.kind === 'if') for (const { body } of node.elifs) yield* allStatements(body);
    if (node.kind === 'if' || node.kind === 'for') yield* allStatements(node.otherwise);
  }
}

/** All blocks in the statements, at any depth. */
export function* findBlocks(statements: readonly Statement[]): Generator<Statement & { kind: 'block' }> {
  for (const node of allStatements(statements)) if (node.kind === 'block') yield node;
}

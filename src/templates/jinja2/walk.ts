import type { Arguments, Expression, Parameter, Statement, Target } from './ast.js';

/** Visits names that are read or assigned. */
export interface NameVisitor {
  read(name: string): void;
  assign(name: string): void;
}

/** Visits every name an expression reads. */
export function walkExpression(node: Expression | undefined, visitor: NameVisitor): void {
  if (node === undefined) return;
  switch (node.kind) {
    case 'constant':
      return;
    case 'name':
      visitor.read(node.name);
      return;
    case 'list':
    case 'tuple':
      for (const item of node.items) walkExpression(item, visitor);
      return;
    case 'dict':
      for (const [key, value] of node.entries) {
        walkExpression(key, visitor);
        walkExpression(value, visitor);
      }
      return;
    case 'unary':
      walkExpression(node.operand, visitor);
      return;
    case 'binary':
    case 'logical':
      walkExpression(node.left, visitor);
      walkExpression(node.right, visitor);
      return;
    case 'concat':
      for (const part of node.parts) walkExpression(part, visitor);
      return;
    case 'compare':
      walkExpression(node.first, visitor);
      for (const { operand } of node.rest) walkExpression(operand, visitor);
      return;
    case 'attribute':
      walkExpression(node.target, visitor);
      return;
    case 'item':
      walkExpression(node.target, visitor);
      walkExpression(node.key, visitor);
      return;
    case 'slice':
      walkExpression(node.target, visitor);
      walkExpression(node.start, visitor);
      walkExpression(node.stop, visitor);
      walkExpression(node.step, visitor);
      return;
    case 'call':
      walkExpression(node.callee, visitor);
      walkArguments(node, visitor);
      return;
    case 'filter':
    case 'test':
      walkExpression(node.input, visitor);
      walkArguments(node, visitor);
      return;
    case 'conditional':
      walkExpression(node.test, visitor);
      walkExpression(node.then, visitor);
      walkExpression(node.otherwise, visitor);
      return;
  }
}

function walkArguments({ positional, named, spread, namedSpread }: Arguments, visitor: NameVisitor): void {
  for (const value of positional) walkExpression(value, visitor);
  for (const { value } of named) walkExpression(value, visitor);
  walkExpression(spread, visitor);
  walkExpression(namedSpread, visitor);
}

/** Whether an expression depends on more than its own literals. */
export function readsNames(node: Expression): boolean {
  let reads = false;
  walkExpression(node, { read: () => (reads = true), assign: () => undefined });
  return reads;
}

export function walkTarget(target: Target, visitor: NameVisitor): void {
  if (target.kind === 'name') visitor.assign(target.name);
  else if (target.kind === 'tuple') for (const item of target.items) walkTarget(item, visitor);
}

function walkParameters(parameters: readonly Parameter[], visitor: NameVisitor): void {
  for (const { name } of parameters) visitor.assign(name);
  for (const { fallback } of parameters) walkExpression(fallback, visitor);
}

/** Visits every name in statements and their children, in Jinja2's order; blocks are not entered. */
export function walkStatements(statements: readonly Statement[], visitor: NameVisitor): void {
  for (const statement of statements) walkStatement(statement, visitor);
}

function walkStatement(node: Statement, visitor: NameVisitor): void {
  switch (node.kind) {
    case 'output':
      for (const part of node.parts) if (part.kind !== 'data') walkExpression(part, visitor);
      return;
    case 'if':
      walkExpression(node.test, visitor);
      walkStatements(node.body, visitor);
      for (const { test, body } of node.elifs) {
        walkExpression(test, visitor);
        walkStatements(body, visitor);
      }
      walkStatements(node.otherwise, visitor);
      return;
    case 'for':
      walkTarget(node.target, visitor);
      walkExpression(node.iterable, visitor);
      walkStatements(node.body, visitor);
      walkStatements(node.otherwise, visitor);
      walkExpression(node.test, visitor);
      return;
    case 'set':
      walkTarget(node.target, visitor);
      walkExpression(node.value, visitor);
      return;
    case 'setBlock':
      walkTarget(node.target, visitor);
      walkExpression(node.filter, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'with':
      for (const { target } of node.bindings) walkTarget(target, visitor);
      for (const { value } of node.bindings) walkExpression(value, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'macro':
      walkParameters(node.parameters, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'callBlock':
      walkExpression(node.call, visitor);
      walkParameters(node.parameters, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'filterBlock':
      walkStatements(node.body, visitor);
      walkExpression(node.filter, visitor);
      return;
    case 'autoescape':
      walkExpression(node.value, visitor);
      walkStatements(node.body, visitor);
      return;
    case 'extends':
    case 'include':
      walkExpression(node.layout, visitor);
      return;
    case 'import':
      walkExpression(node.layout, visitor);
      visitor.assign(node.target);
      return;
    case 'fromImport':
      walkExpression(node.layout, visitor);
      for (const { target } of node.names) visitor.assign(target);
      return;
    case 'block':
      return;
  }
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

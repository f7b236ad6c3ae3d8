import type { Expression, For, Statement, Target } from './ast.js';
import { compileAssign, readTarget } from './assign.js';
import { compileCondition, compileExpression } from './compileExpression.js';
import type { Execute } from './runtime.js';
import { enterScope, escapes, functionScope, innerScope, type Scope } from './scope.js';
import { runFor, runRecursiveFor, type ForParts } from './statements/for.js';
import { Symbols } from './symbols.js';
import { syntaxFault } from './syntaxFault.js';
import { findBlocks, undeclaredNames, walkNames } from './walk.js';

export function compileFor(
  node: For,
  scope: Scope,
  compileAll: (statements: readonly Statement[], scope: Scope) => Execute[],
): Execute {
  checkLoopVariable(node);
  const usesLoop = undeclaredNames(node.body, ['loop']).has('loop');
  const scopedBlocks = Array.from(findBlocks([node])).some((block) => block.scoped);
  const bodyScope = node.recursive ? functionScope(scope) : innerScope(scope);
  const { symbols } = bodyScope;
  const loopSlot =
    node.recursive || usesLoop || scopedBlocks ? symbols.declareParameter('loop').slot : undefined;
  symbols.analyzeLoopBody(node);
  const elseScope = { ...bodyScope, symbols: new Symbols(symbols.layout, scope.symbols) };
  elseScope.symbols.analyze(node.otherwise);
  const parts: ForParts = {
    iterable: compileExpression(node.iterable, scope),
    iterableOffset: node.iterable.offset,
    assign: compileAssign(node.target, bodyScope),
    loopSlot,
    filter: node.test && compileLoopFilter(node.target, node.test, scope, bodyScope),
    enterBody: enterScope(bodyScope),
    body: compileAll(node.body, bodyScope),
    enterElse: enterScope(elseScope),
    otherwise: compileAll(node.otherwise, elseScope),
  };
  return node.recursive ? runRecursiveFor(parts, symbols.layout.slotCount, escapes(scope)) : runFor(parts);
}

function compileLoopFilter(
  target: Target,
  test: Expression,
  outer: Scope,
  bodyScope: Scope,
): NonNullable<ForParts['filter']> {
  const symbols = new Symbols(bodyScope.symbols.layout, outer.symbols);
  const scope = { ...bodyScope, symbols };
  symbols.declareTarget(target);
  symbols.analyzeExpression(test);
  return {
    enter: enterScope(scope),
    assign: compileAssign(target, scope),
    test: compileCondition(test, scope),
    read: readTarget(target, scope),
  };
}

/** `loop` belongs to the loop: nothing in it may assign that name. */
function checkLoopVariable(node: For): void {
  walkNames([node], {
    read: () => undefined,
    assign: (name) => {
      if (name === 'loop')
        throw syntaxFault("Can't assign to special loop variable in for-loop target", node.offset);
    },
  });
}

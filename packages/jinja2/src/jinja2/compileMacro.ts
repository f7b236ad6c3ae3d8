import type { Origin } from '../errors.js';
import type { CallBlock, Macro, Statement } from './ast.js';
import { compileExpression } from './compileExpression.js';
import type { MacroDefinition } from './macro.js';
import type { Execute } from './runtime.js';
import { enterScope, functionScope, type Scope } from './scope.js';
import { syntaxFault } from './syntaxFault.js';
import { undeclaredNames } from './walk.js';

/**
 * Compiles a macro, or the body of a call block.
 * @param compileAll compiles statements, which may be macros again
 */
export function compileMacro(
  node: Macro | CallBlock,
  outer: Scope,
  origin: Origin,
  compileAll: (statements: readonly Statement[], scope: Scope) => readonly Execute[],
): MacroDefinition {
  const scope = { ...functionScope(outer), unlessExtended: false };
  const { symbols } = scope;
  symbols.analyzeInner(node);
  const special = undeclaredNames(node.body, ['caller', 'kwargs', 'varargs']);
  const explicit = (name: string) => node.parameters.find((parameter) => parameter.name === name);
  const caller = explicit('caller');
  if (special.has('caller') && caller !== undefined && caller.fallback === undefined) {
    throw syntaxFault(
      'When defining macros or call blocks the special "caller" argument must be omitted or be given a default.',
      node.offset,
    );
  }
  const slotOf = (name: string) =>
    special.has(name) && explicit(name) === undefined ? symbols.declareParameter(name).slot : undefined;
  const [callerSlot, kwargsSlot, varargsSlot] = [slotOf('caller'), slotOf('kwargs'), slotOf('varargs')];
  const parameters = node.parameters.map(({ name, fallback }) => ({
    name,
    slot: symbols.variable(name).slot,
    fallback: fallback && compileExpression(fallback, scope),
  }));
  const body = compileAll(node.body, scope);
  return {
    name: node.kind === 'macro' ? node.name : undefined,
    origin,
    parameters,
    callerSlot,
    kwargsSlot,
    varargsSlot,
    usesCaller: special.has('caller'),
    slotCount: symbols.layout.slotCount,
    enter: enterScope(scope),
    body,
  };
}

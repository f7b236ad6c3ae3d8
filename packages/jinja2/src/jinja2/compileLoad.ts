import type { FromImport, Import, Include } from './ast.js';
import { compileExpression } from './compileExpression.js';
import type { Execute } from './runtime.js';
import { readVariable, type Scope } from './scope.js';
import type { Local } from './statements/block.js';
import { importModule, importNames, include, type ImportTarget } from './statements/load.js';

/** Compiles the statements that load layouts beside the template's own. */
export function compileLoad(node: Include | Import | FromImport, scope: Scope): Execute {
  const layout = compileExpression(node.layout, scope);
  const locals = node.withContext ? localsOf(scope) : undefined;
  const target = (name: string): ImportTarget => ({
    name,
    slot: scope.symbols.variable(name).slot,
    isTopLevel: scope.topLevel,
  });
  switch (node.kind) {
    case 'include':
      return include(layout, node.ignoreMissing, locals);
    case 'import':
      return importModule(layout, target(node.target), locals);
    case 'fromImport': {
      const names = node.names.map(({ name, target: alias }) => ({ name, target: target(alias) }));
      return importNames(layout, names, locals);
    }
  }
}

/** The variables visible at a statement. */
export function localsOf({ symbols }: Scope): readonly Local[] {
  return Array.from(symbols.assigned(), ([name, variable]) => ({
    name,
    read: readVariable(variable, symbols.layout),
  }));
}

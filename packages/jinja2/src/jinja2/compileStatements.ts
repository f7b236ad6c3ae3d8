import { renderFault, type Origin } from '../errors.js';
import { str } from '../values/text.js';
import { isTrue } from '../values/truth.js';
import { isText, Markup, textOf, typeName } from '../values/value.js';
import type {
  Autoescape,
  Block,
  CallBlock,
  Expression,
  Extends,
  FilterCall,
  If,
  Macro as MacroAst,
  Output,
  SetBlock,
  SetStatement,
  Statement,
  Target,
  With,
} from './ast.js';
import { compileAssign } from './assign.js';
import { compileCall } from './compileCall.js';
import { compileBlockFilter, compileCondition, compileExpression } from './compileExpression.js';
import { compileFor } from './compileFor.js';
import { compileLoad, localsOf } from './compileLoad.js';
import { compileMacro } from './compileMacro.js';
import { Macro, type MacroDefinition } from './macro.js';
import {
  executeAll,
  located,
  type BlockDefinition,
  type Evaluate,
  type Execute,
  type Program,
} from './runtime.js';
import { enterScope, escapes, innerScope, readVariable, type Escaping, type Scope } from './scope.js';
import { printBlock } from './statements/block.js';
import { captureBlock } from './statements/capture.js';
import { extend } from './statements/load.js';
import { printParts } from './statements/output.js';
import { FunctionLayout, Symbols } from './symbols.js';
import { syntaxFault } from './syntaxFault.js';
import { allStatements, findBlocks, targetNames, undeclaredNames } from './walk.js';

export interface ProgramOptions {
  /** Whether autoescape is on at the start. */
  readonly escaping: boolean;
  /** Whether a missing name or attribute is an error. */
  readonly strict: boolean;
}

/** Compiles the statements of a template. @throws Fault of kind syntax */
export function compileProgram(
  origin: Origin,
  statements: readonly Statement[],
  options: ProgramOptions,
): Program {
  return new StatementCompiler(origin, statements).program(options);
}

const LOADS: ReadonlySet<Statement['kind']> = new Set(['extends', 'include', 'import', 'fromImport']);

/** The slot of the layout that a template extends; templates can't use such a name. */
const PARENT = ' parent';

class StatementCompiler {
  private readonly blocks = new Map<string, readonly BlockDefinition[]>();
  /** Whether names assigned at the top level are read elsewhere: in blocks, or in other templates. */
  private readonly sharesNames: boolean;
  private readonly mayExtend: boolean;
  /** Whether an `extends` tag was compiled that always runs, or any. */
  private extendsSurely = false;
  private extendsMaybe = false;

  constructor(
    private readonly origin: Origin,
    private readonly statements: readonly Statement[],
  ) {
    const kinds = new Set(Array.from(allStatements(statements), ({ kind }) => kind));
    this.mayExtend = kinds.has('extends');
    this.sharesNames =
      origin.name !== undefined || kinds.has('block') || [...LOADS].some((kind) => kinds.has(kind));
  }

  program({ escaping, strict }: ProgramOptions): Program {
    const { statements } = this;
    const symbols = new Symbols(new FunctionLayout(), undefined);
    const scope: Scope = {
      symbols,
      escaping,
      topLevel: true,
      soft: false,
      strict,
      unlessExtended: this.mayExtend,
    };
    const parentSlot = this.mayExtend ? symbols.declareParameter(PARENT).slot : undefined;
    const selfSlot = undeclaredNames(statements, ['self']).has('self')
      ? symbols.declareParameter('self').slot
      : undefined;
    symbols.analyze(statements);
    const body = this.compileAll(statements, scope);
    for (const block of findBlocks(statements)) this.compileBlockDefinition(block, scope);
    return {
      origin: this.origin,
      body,
      slotCount: symbols.layout.slotCount,
      enter: enterScope(scope),
      selfSlot,
      parentSlot,
      blocks: this.blocks,
    };
  }

  private compileAll(statements: readonly Statement[], scope: Scope): Execute[] {
    return statements.flatMap((statement) => this.compile(statement, scope) ?? []);
  }

  /** @returns undefined for a statement that never runs */
  private compile(node: Statement, scope: Scope): Execute | undefined {
    switch (node.kind) {
      case 'output':
        if (!scope.unlessExtended) return compileOutput(node, scope);
        return this.unlessExtended(scope, () => compileOutput(node, scope));
      case 'if':
        return this.compileIf(node, { ...scope, soft: true });
      case 'for':
        return compileFor(node, scope, (body, inner) => this.compileAll(body, inner));
      case 'set':
        return this.compileSet(node, scope);
      case 'setBlock':
        return this.compileSetBlock(node, scope);
      case 'with':
        return this.compileWith(node, scope);
      case 'macro':
        return this.compileMacro(node, scope);
      case 'callBlock':
        return located(node.offset, this.compileCallBlock(node, scope));
      case 'filterBlock': {
        const evaluate = this.compileBlockText(node.body, node.filter, scope, false);
        return located(node.offset, printVerbatim(evaluate));
      }
      case 'autoescape':
        return this.compileAutoescape(node, scope);
      case 'block':
        if (!scope.topLevel || !this.extendsMaybe) return compileBlock(node, scope);
        return this.unlessExtended(scope, () => compileBlock(node, scope));
      case 'extends':
        return located(node.offset, this.compileExtends(node, scope));
      default:
        return located(node.offset, compileLoad(node, scope));
    }
  }

  /** A statement that only prints while the template extends nothing; undefined if it certainly extends. */
  private unlessExtended({ symbols }: Scope, compile: () => Execute): Execute | undefined {
    if (this.extendsSurely) return undefined;
    const readParent = readVariable(symbols.variable(PARENT), symbols.layout);
    const execute = compile();
    return (frame) => {
      if (readParent(frame) === undefined) execute(frame);
    };
  }

  /** Anything after a second `extends` that always runs is unreachable. */
  private compileExtends({ layout, offset }: Extends, scope: Scope): Execute {
    if (!scope.topLevel) throw syntaxFault('cannot use extend from a non top-level scope', offset);
    if (this.extendsSurely) {
      return () => {
        throw renderFault('extended multiple times');
      };
    }
    this.extendsMaybe = true;
    if (!scope.soft) this.extendsSurely = true;
    return extend(compileExpression(layout, scope), scope.symbols.variable(PARENT).slot);
  }

  private compileIf(node: If, scope: Scope): Execute {
    const branches = [node, ...node.elifs].map(({ test, body }) => ({
      condition: compileCondition(test, scope),
      body: this.compileAll(body, scope),
    }));
    const otherwise = this.compileAll(node.otherwise, scope);
    return (frame) => {
      for (const { condition, body } of branches) {
        if (!condition(frame)) continue;
        executeAll(body, frame);
        return;
      }
      executeAll(otherwise, frame);
    };
  }

  private compileSet({ target, value }: SetStatement, scope: Scope): Execute {
    const assign = compileAssign(target, scope);
    const evaluate = compileExpression(value, scope);
    const exportNames = this.exportNames(target, scope);
    return (frame) => {
      assign(frame, evaluate(frame));
      exportNames(frame);
    };
  }

  private compileSetBlock({ target, body, filter, offset }: SetBlock, scope: Scope): Execute {
    const assign = compileAssign(target, scope);
    const evaluate = this.compileBlockText(body, filter, scope, true);
    const exportNames = this.exportNames(target, scope);
    return located(offset, (frame) => {
      const { autoescape, budget } = frame.run;
      const value = evaluate(frame);
      assign(frame, autoescape && !(value instanceof Markup) ? new Markup(str(value, budget)) : value);
      exportNames(frame);
    });
  }

  /** Makes assigned names of the top level known to the blocks and templates that read them, if any. */
  private exportNames(target: Target, scope: Scope): Execute {
    const exports: { readonly name: string; readonly slot: number }[] = [];
    if (scope.topLevel && this.sharesNames) {
      for (const name of targetNames(target)) exports.push({ name, slot: scope.symbols.variable(name).slot });
    }
    return ({ run, slots }) => {
      for (const { name, slot } of exports) {
        const value = slots[slot];
        if (value !== undefined) run.setVar(name, value);
      }
    };
  }

  private compileBlockText(
    body: readonly Statement[],
    filter: FilterCall | undefined,
    outer: Scope,
    isAssigned: boolean,
  ): Evaluate {
    const scope = { ...innerScope(outer), unlessExtended: outer.unlessExtended && !isAssigned };
    scope.symbols.analyze(body);
    scope.symbols.analyzeExpression(filter);
    const { slot } = scope.symbols.declareParameter(' printed');
    return captureBlock({
      enter: enterScope(scope),
      body: this.compileAll(body, scope),
      slot,
      filter: filter && compileBlockFilter(filter, (frame) => frame.slots[slot] ?? '', scope),
      isMarkup: escapes(scope),
    });
  }

  private compileWith(node: With, outer: Scope): Execute {
    const scope = innerScope(outer);
    scope.symbols.analyzeInner(node);
    const enter = enterScope(scope);
    const bindings = node.bindings.map(({ target, value }) => ({
      assign: compileAssign(target, scope),
      value: compileExpression(value, outer),
    }));
    const body = this.compileAll(node.body, scope);
    return (frame) => {
      enter(frame);
      for (const { assign, value } of bindings) assign(frame, value(frame));
      executeAll(body, frame);
    };
  }

  private compileMacro(node: MacroAst, scope: Scope): Execute {
    const definition = this.compileMacroBody(node, scope);
    const { slot } = scope.symbols.variable(node.name);
    const isExported = scope.topLevel && this.sharesNames;
    return (frame) => {
      const macro = new Macro(definition, frame);
      frame.run.budget.allocate(1);
      frame.slots[slot] = macro;
      if (isExported) frame.run.setVar(node.name, macro);
    };
  }

  private compileCallBlock(node: CallBlock, scope: Scope): Execute {
    const definition = this.compileMacroBody(node, scope);
    const call = compileCall(node.call, scope, compileExpression, (frame) => [
      'caller',
      new Macro(definition, frame),
    ]);
    return printVerbatim(call);
  }

  private compileMacroBody(node: MacroAst | CallBlock, scope: Scope): MacroDefinition {
    return compileMacro(node, scope, this.origin, (body, inner) => this.compileAll(body, inner));
  }

  private compileAutoescape(node: Autoescape, outer: Scope): Execute {
    const scope = { ...innerScope(outer), escaping: nestedEscaping(node.value, outer.escaping) };
    scope.symbols.analyzeInner(node);
    const value = compileExpression(node.value, scope);
    const enter = enterScope(scope);
    const body = this.compileAll(node.body, scope);
    return (frame) => {
      const { run } = frame;
      const { autoescape } = run;
      enter(frame);
      run.autoescape = isTrue(value(frame));
      try {
        executeAll(body, frame);
      } finally {
        run.autoescape = autoescape;
      }
    };
  }

  private compileBlockDefinition({ name, body, offset }: Block, outer: Scope): void {
    if (this.blocks.has(name)) throw syntaxFault(`block '${name}' defined twice`, offset);
    const symbols = new Symbols(new FunctionLayout(), undefined);
    const scope: Scope = { ...outer, symbols, topLevel: false, soft: false, unlessExtended: false };
    const special = undeclaredNames(body, ['self', 'super']);
    const slotOf = (name: string) => (special.has(name) ? symbols.declareParameter(name).slot : undefined);
    const [selfSlot, superSlot] = [slotOf('self'), slotOf('super')];
    symbols.analyze(body);
    const compiled = this.compileAll(body, scope);
    const { slotCount } = symbols.layout;
    const definition = { name, origin: this.origin, slotCount, selfSlot, superSlot };
    this.blocks.set(name, [{ ...definition, enter: enterScope(scope), body: compiled }]);
  }
}

function compileOutput({ parts }: Output, scope: Scope): Execute {
  const compiled = parts.map((part) =>
    part.kind === 'data' ? part : { evaluate: compileExpression(part, scope), offset: part.offset },
  );
  return printParts(compiled, scope.escaping);
}

function compileBlock(node: Block, scope: Scope): Execute {
  return printBlock(node, node.scoped ? localsOf(scope) : []);
}

/** Prints the result of a call or filter block, which must be text, as it is. */
function printVerbatim(evaluate: Evaluate): Execute {
  return (frame) => {
    const value = evaluate(frame);
    if (!isText(value)) throw renderFault(`expected str instance, ${typeName(value)} found`);
    frame.run.out.writeValue(value, textOf(value));
  };
}

function nestedEscaping(value: Expression, outer: Escaping): Escaping {
  if (outer === 'volatile' || value.kind !== 'constant') return 'volatile';
  return Boolean(value.value);
}

import type {
  Block,
  CallBlock,
  Expression,
  FilterCall,
  For,
  LoadStatement,
  Macro as MacroAst,
  Output,
  SetBlock,
  SetStatement,
  Statement,
  Target,
  With,
} from './ast.js';
import { compileAssign, readTarget } from './assign.js';
import { compileCall } from './compileCall.js';
import { compileBlockFilter, compileCondition, compileExpression } from './compileExpression.js';
import { Macro } from './macro.js';
import type { MacroDefinition } from './macro.js';
import { AutoescapeNode, BlockNode } from './nodes/blockNodes.js';
import type { Local } from './nodes/blockNodes.js';
import {
  ExtendsNode,
  FromImportNode,
  ImportNode,
  IncludeNode,
  UnlessExtendedNode,
} from './nodes/loadNodes.js';
import type { ImportTarget } from './nodes/loadNodes.js';
import { ForNode, RecursiveForNode } from './nodes/forNode.js';
import type { ForParts } from './nodes/forNode.js';
import { IfNode } from './nodes/ifNode.js';
import { CallBlockNode, FilterBlockNode, MacroNode } from './nodes/macroNodes.js';
import type { JinjaNode } from './nodes/node.js';
import { OutputNode } from './nodes/outputNode.js';
import { SetBlockNode, SetNode, WithNode } from './nodes/setNodes.js';
import type { BlockText, Export } from './nodes/setNodes.js';
import { renderFault } from '../errors.js';
import type { Origin } from '../errors.js';
import { FailNode } from './nodes/failNode.js';
import type { BlockDefinition, Program } from './runtime.js';
import { enterScope, functionScope, innerScope, readVariable } from './scope.js';
import type { Escaping, Scope } from './scope.js';
import { FunctionLayout, Symbols } from './symbols.js';
import { syntaxFault } from './syntaxFault.js';
import { allStatements, findBlocks, undeclaredNames, walkStatements, walkTarget } from './walk.js';

export interface ProgramOptions {
  readonly escaping: boolean;
  readonly guarded: boolean;
  readonly strict: boolean;
}

/** Compiles the statements of a template. @throws Fault of kind syntax */
export function compileProgram(
  origin: Origin,
  statements: readonly Statement[],
  options: ProgramOptions,
): Program<JinjaNode> {
  return new StatementCompiler(origin, statements).program(options);
}

const LOADS: ReadonlySet<Statement['kind']> = new Set(['extends', 'include', 'import', 'fromImport']);

/** The slot of the layout that a template extends; templates can't use such a name. */
const PARENT = ' parent';

class StatementCompiler {
  private readonly blocks = new Map<string, readonly BlockDefinition[]>();
  private readonly source: string;
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
    this.source = origin.source;
    const kinds = new Set(Array.from(allStatements(statements), ({ kind }) => kind));
    this.mayExtend = kinds.has('extends');
    this.sharesNames =
      origin.name !== undefined || kinds.has('block') || [...LOADS].some((kind) => kinds.has(kind));
  }

  program({ escaping, guarded, strict }: ProgramOptions): Program<JinjaNode> {
    const { statements } = this;
    const symbols = new Symbols(new FunctionLayout(), undefined);
    const scope: Scope = {
      symbols,
      escaping,
      topLevel: true,
      soft: false,
      guarded,
      strict,
      unlessExtended: this.mayExtend,
    };
    const parentSlot = this.mayExtend ? symbols.declareParameter(PARENT).slot : undefined;
    const selfSlot = undeclaredNames(statements, ['self']).has('self')
      ? symbols.declareParameter('self').slot
      : undefined;
    symbols.analyze(statements);
    const nodes = this.compileAll(statements, scope);
    for (const block of findBlocks(statements)) this.compileBlockDefinition(block, scope);
    return {
      origin: this.origin,
      nodes,
      slotCount: symbols.layout.slotCount,
      enter: enterScope(scope),
      selfSlot,
      parentSlot,
      blocks: this.blocks,
    };
  }

  private compileAll(statements: readonly Statement[], scope: Scope): JinjaNode[] {
    return statements.flatMap((statement) => this.compile(statement, scope) ?? []);
  }

  /** @returns undefined for a statement that never runs */
  private compile(node: Statement, scope: Scope): JinjaNode | undefined {
    const { source } = this;
    switch (node.kind) {
      case 'output':
        if (!scope.unlessExtended) return this.compileOutput(node, scope);
        return this.unlessExtended(node, scope, () => this.compileOutput(node, scope));
      case 'if': {
        const soft = { ...scope, soft: true };
        const branches = [node, ...node.elifs].map(({ test, body }) => ({
          condition: compileCondition(test, soft),
          body: this.compileAll(body, soft),
        }));
        return new IfNode(source, node.offset, branches, this.compileAll(node.otherwise, soft));
      }
      case 'for':
        return this.compileFor(node, scope);
      case 'set':
        return this.compileSet(node, scope);
      case 'setBlock':
        return this.compileSetBlock(node, scope);
      case 'with':
        return this.compileWith(node, scope);
      case 'macro':
        return this.compileMacro(node, scope);
      case 'callBlock':
        return this.compileCallBlock(node, scope);
      case 'filterBlock':
        return new FilterBlockNode(
          source,
          node.offset,
          this.compileBlockText(node.body, node.filter, scope, false),
        );
      case 'autoescape':
        return this.compileAutoescape(node.value, node.body, node.offset, scope);
      case 'block':
        if (!scope.topLevel || !this.extendsMaybe) return this.compileBlock(node, scope);
        return this.unlessExtended(node, scope, () => this.compileBlock(node, scope));
      default:
        return this.compileLoad(node, scope);
    }
  }

  /** A node that only prints while the template extends nothing; undefined if it certainly extends. */
  private unlessExtended(
    { offset }: Statement,
    { symbols }: Scope,
    compile: () => JinjaNode,
  ): JinjaNode | undefined {
    if (this.extendsSurely) return undefined;
    const readParent = readVariable(symbols.variable(PARENT), symbols.layout);
    return new UnlessExtendedNode(this.source, offset, readParent, compile());
  }

  private compileLoad(node: LoadStatement, scope: Scope): JinjaNode | undefined {
    const { source } = this;
    const { offset } = node;
    if (node.kind === 'extends') return this.compileExtends(node.layout, offset, scope);
    const layout = compileExpression(node.layout, scope);
    const locals = node.withContext ? localsOf(scope) : undefined;
    const target = (name: string): ImportTarget => ({
      name,
      slot: scope.symbols.variable(name).slot,
      isTopLevel: scope.topLevel,
    });
    switch (node.kind) {
      case 'include':
        return new IncludeNode(source, offset, layout, node.ignoreMissing, locals);
      case 'import':
        return new ImportNode(source, offset, layout, target(node.target), locals);
      case 'fromImport': {
        const names = node.names.map(({ name, target: alias }) => ({ name, target: target(alias) }));
        return new FromImportNode(source, offset, layout, names, locals);
      }
    }
  }

  /** Anything after a second `extends` that always runs is unreachable. */
  private compileExtends(layout: Expression, offset: number, scope: Scope): JinjaNode {
    if (!scope.topLevel) throw syntaxFault('cannot use extend from a non top-level scope', offset);
    if (this.extendsSurely)
      return new FailNode(this.source, offset, () => renderFault('extended multiple times'));
    const { slot } = scope.symbols.variable(PARENT);
    this.extendsMaybe = true;
    if (!scope.soft) this.extendsSurely = true;
    return new ExtendsNode(this.source, offset, compileExpression(layout, scope), slot);
  }

  private compileOutput({ parts, offset }: Output, scope: Scope): JinjaNode {
    const compiled = parts.map((part) =>
      part.kind === 'data'
        ? { text: part.text, evaluate: undefined, offset: part.offset }
        : { text: '', evaluate: compileExpression(part, scope), offset: part.offset },
    );
    return new OutputNode(this.source, offset, compiled, scope.escaping, scope.guarded);
  }

  private compileFor(node: For, scope: Scope): JinjaNode {
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
      filter: node.test && this.compileLoopFilter(node.target, node.test, scope, bodyScope),
      enterBody: enterScope(bodyScope),
      body: this.compileAll(node.body, bodyScope),
      enterElse: enterScope(elseScope),
      otherwise: this.compileAll(node.otherwise, elseScope),
    };
    if (!node.recursive) return new ForNode(this.source, node.offset, parts);
    return new RecursiveForNode(
      this.source,
      node.offset,
      parts,
      () => symbols.layout.slotCount,
      scope.escaping,
    );
  }

  private compileLoopFilter(
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

  private compileSet(node: SetStatement, scope: Scope): JinjaNode {
    const assign = compileAssign(node.target, scope);
    return new SetNode(
      this.source,
      node.offset,
      assign,
      compileExpression(node.value, scope),
      this.exportsOf(node.target, scope),
    );
  }

  private compileSetBlock(node: SetBlock, scope: Scope): JinjaNode {
    const assign = compileAssign(node.target, scope);
    const block = this.compileBlockText(node.body, node.filter, scope, true);
    return new SetBlockNode(this.source, node.offset, assign, block, this.exportsOf(node.target, scope));
  }

  /** Top-level names, if there are blocks to read them. */
  private exportsOf(target: Target, scope: Scope): Export[] {
    const exports: Export[] = [];
    if (!scope.topLevel || !this.sharesNames) return exports;
    walkTarget(target, {
      read: () => undefined,
      assign: (name) => exports.push({ name, slot: scope.symbols.variable(name).slot }),
    });
    return exports;
  }

  private compileBlockText(
    body: readonly Statement[],
    filter: FilterCall | undefined,
    outer: Scope,
    isAssigned: boolean,
  ): BlockText {
    const scope = { ...innerScope(outer), unlessExtended: outer.unlessExtended && !isAssigned };
    scope.symbols.analyze(body);
    scope.symbols.analyzeExpression(filter);
    const printed = scope.symbols.declareParameter(' printed');
    const { escaping } = scope;
    return {
      enter: enterScope(scope),
      body: this.compileAll(body, scope),
      slot: printed.slot,
      filter: filter && compileBlockFilter(filter, (frame) => frame.slots[printed.slot] ?? '', scope),
      markup: escaping === 'volatile' ? ({ run }) => run.autoescape : () => escaping,
    };
  }

  private compileWith(node: With, outer: Scope): JinjaNode {
    const scope = innerScope(outer);
    scope.symbols.analyzeWith(node);
    const bindings = node.bindings.map(({ target, value }) => ({
      assign: compileAssign(target, scope),
      value: compileExpression(value, outer),
    }));
    return new WithNode(
      this.source,
      node.offset,
      enterScope(scope),
      bindings,
      this.compileAll(node.body, scope),
    );
  }

  private compileMacro(node: MacroAst, scope: Scope): JinjaNode {
    const definition = this.compileMacroBody(node, node.name, scope);
    const exportedAs = scope.topLevel && this.sharesNames ? node.name : undefined;
    return new MacroNode(
      this.source,
      node.offset,
      definition,
      scope.symbols.variable(node.name).slot,
      exportedAs,
    );
  }

  private compileMacroBody(
    node: MacroAst | CallBlock,
    name: string | undefined,
    outer: Scope,
  ): MacroDefinition {
    const scope = { ...functionScope(outer), unlessExtended: false };
    const { symbols } = scope;
    symbols.analyzeMacro(node);
    const special = undeclaredNames(node.body, ['caller', 'kwargs', 'varargs']);
    const explicit = (special: string) => node.parameters.find((parameter) => parameter.name === special);
    const explicitCaller = explicit('caller');
    if (special.has('caller') && explicitCaller !== undefined && explicitCaller.fallback === undefined) {
      throw syntaxFault(
        'When defining macros or call blocks the special "caller" argument must be omitted or be given a default.',
        node.offset,
      );
    }
    const slotOf = (special_: string) => {
      if (!special.has(special_) || explicit(special_) !== undefined) return undefined;
      return symbols.declareParameter(special_).slot;
    };
    const [callerSlot, kwargsSlot, varargsSlot] = [slotOf('caller'), slotOf('kwargs'), slotOf('varargs')];
    return {
      name,
      origin: this.origin,
      parameters: node.parameters.map((parameter) => ({
        name: parameter.name,
        slot: symbols.variable(parameter.name).slot,
        fallback: parameter.fallback && compileExpression(parameter.fallback, scope),
      })),
      callerSlot,
      kwargsSlot,
      varargsSlot,
      usesCaller: special.has('caller'),
      slotCount: () => symbols.layout.slotCount,
      enter: enterScope(scope),
      body: this.compileAll(node.body, scope),
    };
  }

  private compileCallBlock(node: CallBlock, scope: Scope): JinjaNode {
    const definition = this.compileMacroBody(node, undefined, scope);
    const call = compileCall(node.call, scope, compileExpression, (frame) => [
      'caller',
      new Macro(definition, frame),
    ]);
    return new CallBlockNode(this.source, node.offset, call);
  }

  private compileAutoescape(
    value: Expression,
    body: readonly Statement[],
    offset: number,
    outer: Scope,
  ): JinjaNode {
    const scope = { ...innerScope(outer), escaping: nestedEscaping(value, outer.escaping) };
    scope.symbols.analyzeExpression(value);
    scope.symbols.analyze(body);
    return new AutoescapeNode(
      this.source,
      offset,
      compileExpression(value, scope),
      enterScope(scope),
      this.compileAll(body, scope),
    );
  }

  private compileBlock(node: Block, scope: Scope): JinjaNode {
    const locals = node.scoped ? localsOf(scope) : undefined;
    return new BlockNode(this.source, node.offset, node.name, node.required, locals);
  }

  private compileBlockDefinition(node: Block, { escaping, guarded, strict }: Scope): void {
    if (this.blocks.has(node.name)) throw syntaxFault(`block '${node.name}' defined twice`, node.offset);
    const symbols = new Symbols(new FunctionLayout(), undefined);
    const scope: Scope = {
      symbols,
      escaping,
      topLevel: false,
      soft: false,
      guarded,
      strict,
      unlessExtended: false,
    };
    const special = undeclaredNames(node.body, ['self', 'super']);
    const slotOf = (name: string) => (special.has(name) ? symbols.declareParameter(name).slot : undefined);
    const [selfSlot, superSlot] = [slotOf('self'), slotOf('super')];
    symbols.analyze(node.body);
    const definition: BlockDefinition = {
      name: node.name,
      origin: this.origin,
      slotCount: () => symbols.layout.slotCount,
      selfSlot,
      superSlot,
      enter: enterScope(scope),
      body: this.compileAll(node.body, scope),
    };
    this.blocks.set(node.name, [definition]);
  }
}

/** The variables visible at a statement. */
function localsOf({ symbols }: Scope): readonly Local[] {
  return Array.from(symbols.assigned(), ([name, variable]) => ({
    name,
    read: readVariable(variable, symbols.layout),
  }));
}

function nestedEscaping(value: Expression, outer: Escaping): Escaping {
  if (outer === 'volatile' || value.kind !== 'constant') return 'volatile';
  return Boolean(value.value);
}

/** `loop` belongs to the loop: nothing in it may assign that name. */
function checkLoopVariable(node: For): void {
  walkStatements([node], {
    read: () => undefined,
    assign: (name) => {
      if (name === 'loop')
        throw syntaxFault("Can't assign to special loop variable in for-loop target", node.offset);
    },
  });
}

import type { Autoescape, CallBlock, Expression, For, Macro, Statement, Target, With } from './ast.js';
import { forEachName, NONE, stepsOf, targetNames } from './walk.js';

/**
 * Names are resolved at compile time by Jinja2's own rules (its `idtracking`): each scope has variables for the names
 * assigned in it, and reads use the nearest scope with that name, or the context. Variables are stored in the slots of the
 * function (template, macro, block, recursive loop) they belong to.
 */

/** Allocates the slots of one function's frames. */
export class FunctionLayout {
  slotCount = 0;
  readonly depth: number;

  constructor(parent?: FunctionLayout) {
    this.depth = parent === undefined ? 0 : parent.depth + 1;
  }
}

/** A variable: a slot in the frames of a function. */
export interface Variable {
  readonly layout: FunctionLayout;
  readonly slot: number;
}

/** A variable's initial value when its scope is entered. */
export type Load =
  /** Set by the code that enters the scope. */
  | { readonly kind: 'parameter' }
  /** Looked up in the context. */
  | { readonly kind: 'resolve'; readonly name: string }
  /** A copy of the outer scope's variable, which assignments here don't affect. */
  | { readonly kind: 'alias'; readonly of: Variable }
  | { readonly kind: 'undefined' };

/** The names of one scope. */
export class Symbols {
  private references = new Map<string, Variable>();
  private loadsByVariable = new Map<Variable, Load>();
  private stores = new Set<string>();

  constructor(
    readonly layout: FunctionLayout,
    readonly parent: Symbols | undefined,
    /** Variables by name, shared by the copies that the branches of an `if` work on. */
    private readonly variables = new Map<string, Variable>(),
  ) {}

  private define(name: string, load: Load): Variable {
    const variable = this.variables.get(name) ?? { layout: this.layout, slot: this.layout.slotCount++ };
    this.variables.set(name, variable);
    this.references.set(name, variable);
    this.loadsByVariable.set(variable, load);
    return variable;
  }

  find(name: string): Variable | undefined {
    return this.references.get(name) ?? this.parent?.find(name);
  }

  /** The variable of a name that was analyzed earlier. */
  variable(name: string): Variable {
    const variable = this.find(name);
    if (variable === undefined) throw new Error(`the name ${name} was not analyzed`);
    return variable;
  }

  loads(): Iterable<readonly [Variable, Load]> {
    return this.loadsByVariable;
  }

  /** The names assigned here and in enclosing scopes, each with its innermost variable. */
  assigned(): Map<string, Variable> {
    const all = this.parent?.assigned() ?? new Map<string, Variable>();
    for (const name of this.stores) if (!name.startsWith(' ')) all.set(name, this.variable(name));
    return all;
  }

  private read(name: string): void {
    if (this.find(name) === undefined) this.define(name, { kind: 'resolve', name });
  }

  private assign(name: string): void {
    this.stores.add(name);
    if (this.references.has(name)) return;
    const outer = this.parent?.find(name);
    this.define(name, outer === undefined ? { kind: 'undefined' } : { kind: 'alias', of: outer });
  }

  declareParameter(name: string): Variable {
    this.stores.add(name);
    return this.define(name, { kind: 'parameter' });
  }

  private copy(): Symbols {
    const copy = new Symbols(this.layout, this.parent, this.variables);
    copy.references = new Map(this.references);
    copy.loadsByVariable = new Map(this.loadsByVariable);
    copy.stores = new Set(this.stores);
    return copy;
  }

  /** Merges the assignments of an `if`'s branches. Until one assigns it, a name has its outer value, even if all branches do. */
  private mergeBranches(branches: readonly Symbols[]): void {
    const assigned = new Set(
      branches.flatMap(({ stores }) => [...stores]).filter((name) => !this.stores.has(name)),
    );
    for (const branch of branches) {
      for (const [name, variable] of branch.references) this.references.set(name, variable);
      for (const [variable, load] of branch.loadsByVariable) this.loadsByVariable.set(variable, load);
      for (const name of branch.stores) this.stores.add(name);
    }
    for (const name of assigned) {
      const outer = this.parent?.find(name);
      this.loadsByVariable.set(
        this.variable(name),
        outer === undefined ? { kind: 'resolve', name } : { kind: 'alias', of: outer },
      );
    }
  }

  /** Analyzes statements of this scope: nested scopes (loops, macros, …) analyze themselves. */
  analyze(statements: readonly Statement[]): this {
    for (const statement of statements) this.analyzeStatement(statement);
    return this;
  }

  analyzeExpression(expression: Expression | undefined): void {
    forEachName(expression, (name) => this.read(name));
  }

  private analyzeStatement(node: Statement): void {
    if (node.kind === 'if') {
      this.analyzeExpression(node.test);
      const elifs = this.copy();
      for (const { test, body } of node.elifs) elifs.analyzeElif(test, body);
      this.mergeBranches([this.copy().analyze(node.body), elifs, this.copy().analyze(node.otherwise)]);
      return;
    }
    if (node.kind === 'macro') this.assign(node.name);
    for (const { read, assign = NONE, isInner = false } of stepsOf(node)) {
      for (const { value } of assign) this.analyzeExpression(value);
      if (isInner) continue;
      this.analyzeExpression(read);
      for (const { target } of assign) this.analyzeTarget(target);
    }
  }

  /** Each `elif` is an `if` of its own with no other branches. */
  private analyzeElif(test: Expression, body: readonly Statement[]): void {
    this.analyzeExpression(test);
    this.mergeBranches([this.copy().analyze(body), this.copy(), this.copy()]);
  }

  private analyzeTarget(target: Target): void {
    if (target.kind === 'tuple') for (const item of target.items) this.analyzeTarget(item);
    else if (target.kind === 'namespace') this.read(target.name);
    else this.assign(target.name);
  }

  declareTarget(target: Target): void {
    for (const name of targetNames(target)) this.declareParameter(name);
  }

  analyzeLoopBody(node: For): void {
    this.declareTarget(node.target);
    this.analyze(node.body);
  }

  /** Analyzes the scope that a statement opens. */
  analyzeInner(node: With | Macro | CallBlock | Autoescape): void {
    for (const { read, assign = NONE, body = NONE, isInner = false } of stepsOf(node)) {
      if (!isInner) continue;
      for (const { target } of assign) this.declareTarget(target);
      this.analyzeExpression(read);
      this.analyze(body);
    }
  }
}

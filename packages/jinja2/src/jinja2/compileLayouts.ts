import { ownValue } from '../ownValue.js';
import { blame, Fault, limitFault, type Origin } from '../errors.js';
import type { TemplateLimits } from '../limits.js';
import type { Statement } from './ast.js';
import { compileProgram, type ProgramOptions } from './compileStatements.js';
import { namedLayouts } from './layoutNames.js';
import { checkBlocks, checkLoads, type Linked } from './checkLayouts.js';
import { normalizeSource } from './lexer.js';
import type { Layouts, Program } from './runtime.js';
import { parseTemplate } from './statementParser.js';
import type { NodeCount } from './tokenStream.js';

/** Sources of layouts by name. */
export type LayoutSources = Readonly<Record<string, string>>;

export interface LinkOptions extends ProgramOptions {
  readonly limits: TemplateLimits;
  /** All layouts that the template may load, directly or through others. */
  readonly layouts: LayoutSources;
  /** The template is itself a layout, whose blocks others fill. */
  readonly isLayout?: boolean | undefined;
}

/** The layouts that a template names, directly or through others, whether or not they exist. */
export interface UsedLayouts {
  readonly names: readonly string[];
  /** Whether names depend on data, so that it may load any layout. */
  readonly any: boolean;
}

export const NO_LAYOUTS: UsedLayouts = { names: [], any: false };

/** A template compiled with every layout that it may load. */
export interface LinkedTemplate {
  readonly main: Program;
  /** The template's own statements. */
  readonly statements: readonly Statement[];
  readonly layouts: Layouts;
  /** Normalized sources of all of them. */
  readonly sources: readonly string[];
  readonly uses: UsedLayouts;
  /** Of all of them. */
  readonly tokens: number;
  /** Reports errors that are certain to occur when rendering. @throws Fault */
  readonly check: () => void;
}

/**
 * Compiles a template and the layouts that it loads, directly or through others; the limits apply to all of them together.
 * As in Jinja2, a layout that doesn't compile only affects renders that load it.
 * @throws Fault of kind syntax or limit, of the template itself
 */
export function linkTemplate(text: string, options: LinkOptions): LinkedTemplate {
  const linker = new Linker(options);
  const main = linker.compile(text);
  const { layouts, linked } = linker;
  const all = [main, ...linked.values()];
  return {
    main: main.program,
    statements: main.statements,
    layouts,
    sources: all.map(({ program }) => program.origin.source),
    uses: {
      names: [...new Set(all.flatMap(({ named }) => named.names.map(({ name }) => name)))],
      any: all.some(({ named }) => named.isAny),
    },
    tokens: linker.count.tokens,
    check: () => {
      for (const layout of layouts.values()) if (layout instanceof Fault) throw layout;
      for (const each of all) checkLoads(each, linked, Object.keys(options.layouts));
      if (!options.isLayout) checkBlocks(main, linked);
    },
  };
}

class Linker {
  readonly linked = new Map<string, Linked>();
  readonly layouts = new Map<string, Program | Fault>();
  readonly count: NodeCount = { nodes: 0, tokens: 0 };
  private characters = 0;

  constructor(private readonly options: LinkOptions) {}

  /** Compiles the template, then the layouts that it names. */
  compile(text: string): Linked {
    const origin = { name: undefined, source: normalizeSource(text) };
    const waiting: string[] = [];
    const main = this.compileOne(origin, waiting);
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const source = this.sourceOf(next);
      if (source !== undefined && !this.layouts.has(next)) this.compileLayout(next, source, waiting);
    }
    return main;
  }

  private compileLayout(name: string, source: string, waiting: string[]): void {
    try {
      const linked = this.compileOne({ name, source: normalizeSource(source) }, waiting);
      this.linked.set(name, linked);
      this.layouts.set(name, linked.program);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      this.layouts.set(name, error);
    }
  }

  private compileOne(origin: Origin, waiting: string[]): Linked {
    const { limits, layouts } = this.options;
    try {
      this.characters += origin.source.length;
      if (this.characters > limits.sourceLength) throw this.tooLong();
      const statements: readonly Statement[] = parseTemplate(origin.source, limits, this.count);
      const named = namedLayouts(statements);
      waiting.push(...(named.isAny ? Object.keys(layouts) : named.names.map(({ name }) => name)));
      const program = compileProgram(origin, statements, this.options);
      return { program, statements, named };
    } catch (error) {
      if (error instanceof Fault && error.offset < 0) error.offset = 0;
      throw blame(error, origin);
    }
  }

  private tooLong(): Fault {
    return limitFault(
      `the template and its layouts are too long (limit ${this.options.limits.sourceLength} characters)`,
    );
  }

  private sourceOf(name: string): string | undefined {
    const { layouts } = this.options;
    return ownValue(layouts, name);
  }
}

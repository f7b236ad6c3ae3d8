import { Context, LiquidError, Token, TokenKind, toValueSync, type Template } from 'liquidjs';
import type { BoundedEmitter } from '../emitter.js';
import { Budget } from '../limits.js';
import { ENGINES } from '../liquid/engines.js';
import type { Dict } from '../values/dict.js';
import type { Value } from '../values/value.js';
import { linkTemplate, type LinkedTemplate, type LinkOptions } from './compileLayouts.js';
import { enterProgram, leaveProgram } from './program.js';
import { executeAll, Run, type Execute, type Frame, type Program } from './runtime.js';
import { readsOf, type OffsetRead } from './reads.js';

/** The LiquidJS context of one render: carries the frame. */
interface FrameContext extends Context {
  readonly frame: Frame;
}

class RenderContext extends Context implements FrameContext {
  constructor(readonly frame: Frame) {
    super({}, ENGINES.plain.options, { sync: true }, { liquid: ENGINES.plain });
  }
}

/** LiquidJS's own errors need a position; ours carry their own. */
class StatementToken extends Token {}

/**
 * The statements as LiquidJS sees them: a template like its own tags. They run in plain loops, because LiquidJS's
 * generators check the clock at every node, which halves the speed.
 */
function liquidTemplate(body: readonly Execute[], token: Token): Template {
  return { token, render: (context) => executeAll(body, (context as FrameContext).frame) };
}

/** A compiled Jinja2 template. */
export interface Jinja2Template extends Pick<LinkedTemplate, 'uses' | 'check' | 'tokens'> {
  /** The source with normalized newlines, which offsets refer to. */
  readonly source: string;
  /** Whether the template names a method that changes lists or dicts. */
  readonly changesValues: boolean;
  /** See `readsOf`. */
  reads(): readonly OffsetRead[];
  /** Renders into the emitter. @throws Fault */
  render(context: Dict, ownsContext: boolean, emitter: BoundedEmitter): void;
}

/** Methods that mutate lists and dicts, after a dot or in quotes. Filters of the same names don't mutate. */
const CHANGING_METHOD =
  /[.'"]\s*(?:append|extend|insert|pop|popitem|remove|reverse|clear|sort|update|setdefault)\b/;

/** Compiles a Jinja2 template. @throws Fault of kind syntax or limit */
export function compileJinja2(text: string, options: LinkOptions): Jinja2Template {
  const { limits, escaping } = options;
  const { main, statements, layouts, sources, uses, tokens, check } = linkTemplate(text, options);
  const token = new StatementToken(TokenKind.Tag, main.origin.source, 0, 0);
  const templates = [liquidTemplate(main.body, token)];
  return {
    source: main.origin.source,
    changesValues: sources.some((source) => CHANGING_METHOD.test(source)),
    uses,
    tokens,
    check,
    reads: () => readsOf(statements),
    render(context, ownsContext, emitter) {
      const budget = new Budget(limits);
      const modules = new Map<Program, Value>();
      const run = new Run({ budget, escaping, ownsContext, layouts, modules }, emitter, escaping, context);
      run.blocks = main.blocks;
      const frame = enterProgram(main, run);
      try {
        toValueSync(ENGINES.plain.renderer.renderTemplates(templates, new RenderContext(frame), emitter));
        leaveProgram(main, frame);
      } catch (error) {
        throw unwrapLiquidError(error);
      }
    },
  };
}

/** LiquidJS wraps errors thrown by its templates; this unwraps ours. */
function unwrapLiquidError(error: unknown): unknown {
  return LiquidError.is(error) ? ((error as { originalError?: unknown }).originalError ?? error) : error;
}

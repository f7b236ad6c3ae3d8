import { Context, Liquid, LiquidError, toValueSync } from 'liquidjs';
import type { BoundedEmitter } from '../emitter.js';
import { Budget } from '../limits.js';
import type { TemplateLimits } from '../limits.js';
import type { PlainDict } from '../values/value.js';
import { compileProgram } from './compileStatements.js';
import { normalizeSource } from './lexer.js';
import type { JinjaContext } from './nodes/node.js';
import { TemplateReference } from './nodes/blockNodes.js';
import { Frame, Run } from './runtime.js';
import { isPlain } from './plainTemplate.js';
import { parseTemplate } from './statementParser.js';

/** The engine that renders the nodes. */
const liquid = new Liquid();

class RenderContext extends Context implements JinjaContext {
  constructor(readonly frame: Frame) {
    super({}, liquid.options, { sync: true }, { liquid });
  }
}

export interface Jinja2Options {
  readonly limits: TemplateLimits;
  /** Whether autoescape is on at the start. */
  readonly escaping: boolean;
  /** Whether text and values are emitted separately, for output in another language. */
  readonly guarded: boolean;
}

/** A Jinja2 template, compiled. */
export interface Jinja2Template {
  /** The source with normalised newlines, which offsets refer to. */
  readonly source: string;
  /** Whether the template names a method that changes lists or dicts. */
  readonly changesValues: boolean;
  /** See `isPlain`. */
  readonly isPlain: boolean;
  /** Renders into the emitter. @throws Fault */
  render(context: PlainDict, ownsContext: boolean, emitter: BoundedEmitter): void;
}

/** Methods that mutate lists and dicts, after a dot or in quotes; filters of the same names mutate nothing. */
const CHANGING_METHOD =
  /[.'"]\s*(?:append|extend|insert|pop|popitem|remove|reverse|clear|sort|update|setdefault)\b/;

/** Compiles a Jinja2 template. @throws Fault of kind syntax or limit */
export function compileJinja2(text: string, { limits, escaping, guarded }: Jinja2Options): Jinja2Template {
  const source = normalizeSource(text);
  const statements = parseTemplate(source, limits);
  const program = compileProgram(source, statements, { escaping, guarded });
  const nodes = [...program.nodes];
  return {
    source,
    changesValues: CHANGING_METHOD.test(source),
    isPlain: isPlain(statements),
    render(context, ownsContext, emitter) {
      const run = new Run(new Budget(limits), emitter, escaping, context, ownsContext);
      const frame = new Frame(run, program.slotCount);
      if (program.selfSlot !== undefined)
        frame.slots[program.selfSlot] = new TemplateReference(program.blocks, run);
      program.enter(frame);
      try {
        toValueSync(liquid.renderer.renderTemplates(nodes, new RenderContext(frame), emitter));
      } catch (error) {
        throw unwrapLiquidError(error);
      }
    },
  };
}

/** LiquidJS wraps errors thrown by its nodes; this unwraps ours. */
function unwrapLiquidError(error: unknown): unknown {
  return LiquidError.is(error) ? ((error as { originalError?: unknown }).originalError ?? error) : error;
}

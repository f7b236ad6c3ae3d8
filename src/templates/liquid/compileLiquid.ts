import {
  LiquidError,
  Parser,
  TokenKind,
  toValueSync,
  type Context,
  type Emitter,
  type Liquid,
  type Template,
  type TopLevelToken,
} from 'liquidjs';
import { BoundedEmitter } from '../emitter.js';
import { Fault, limitFault, renderFault } from '../errors.js';
import { Budget, type TemplateLimits } from '../limits.js';
import { BudgetLimiter } from './budgetLimiter.js';
import { ENGINES } from './engines.js';
import { LiquidContext } from './liquidContext.js';
import type { LiquidRecord } from './liquidRecord.js';

/** Text of the template, distinguished from values for emitters that need it. */
class StaticText implements Template {
  constructor(
    readonly token: TopLevelToken,
    private readonly text: string,
  ) {}

  render(_context: Context, emitter: Emitter): void {
    if (emitter instanceof BoundedEmitter) emitter.writeStatic(this.text);
    else emitter.write(this.text);
  }
}

/** LiquidJS's parser, with our nodes for text and a limit on nesting. */
class LiquidParser extends Parser {
  private depth = 0;

  constructor(
    liquid: Liquid,
    private readonly limits: TemplateLimits,
  ) {
    super(liquid);
  }

  override parseToken(token: TopLevelToken, remaining: TopLevelToken[]): ReturnType<Parser['parseToken']> {
    if (++this.depth > this.limits.nesting) {
      throw limitFault(`the template nests too deeply (limit ${this.limits.nesting})`);
    }
    const node = super.parseToken(token, remaining);
    this.depth--;
    if (token.kind !== TokenKind.HTML || !('getContent' in token)) return node;
    return new StaticText(token, token.getContent()) as unknown as ReturnType<Parser['parseToken']>;
  }
}

/** Compiles a Liquid template to a function that renders it, and throws Faults. @throws Fault of kind syntax or limit */
export function compileLiquid(
  source: string,
  limits: TemplateLimits,
  escaping: boolean,
  strict: boolean,
): (record: LiquidRecord, emitter: BoundedEmitter) => void {
  const liquid = escaping ? ENGINES.escaping : ENGINES.plain;
  let templates: Template[];
  try {
    templates = new LiquidParser(liquid, limits).parse(source);
  } catch (error) {
    throw toFault(error, 'syntax');
  }
  return (record, emitter) => {
    const context = new LiquidContext(record, liquid, new BudgetLimiter(new Budget(limits)), strict);
    try {
      toValueSync(liquid.renderer.renderTemplates(templates, context, emitter));
    } catch (error) {
      throw toFault(error, 'render');
    }
  };
}

/** Converts an error of LiquidJS to ours, with the position of its token. */
function toFault(error: unknown, kind: 'syntax' | 'render'): unknown {
  if (!LiquidError.is(error)) return error;
  const { originalError, token } = error as LiquidError & { originalError?: unknown };
  const cause = LiquidError.is(originalError) ? toFault(originalError, kind) : originalError;
  const fault = cause instanceof Fault ? cause : faultOf(error, cause, kind);
  if (fault.offset < 0) fault.offset = token.begin;
  return fault;
}

function faultOf(error: unknown, cause: unknown, kind: 'syntax' | 'render'): Fault {
  const message =
    cause instanceof Error ? cause.message : error instanceof Error ? error.message : String(error);
  const plain = message.replace(/, line:\d+, col:\d+$/, '');
  return kind === 'syntax' ? new Fault('syntax', plain) : renderFault(plain);
}

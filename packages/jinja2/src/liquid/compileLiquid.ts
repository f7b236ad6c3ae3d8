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
  /** Characters of tags and outputs: of all that is not text. */
  computed = 0;
  private depth = 0;

  constructor(
    liquid: Liquid,
    private readonly limits: TemplateLimits,
  ) {
    super(liquid);
  }

  override parseTokens(tokens: TopLevelToken[]): Template[] {
    for (const { kind, begin, end } of tokens) if (kind !== TokenKind.HTML) this.computed += end - begin;
    return super.parseTokens(tokens);
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

export interface LiquidTemplate {
  /** Characters that are not text. */
  readonly computed: number;
  /** @throws Fault */
  render(record: LiquidRecord, emitter: BoundedEmitter): void;
}

/** Compiles a Liquid template. @throws Fault of kind syntax or limit */
export function compileLiquid(
  source: string,
  limits: TemplateLimits,
  escaping: boolean,
  strict: boolean,
): LiquidTemplate {
  const liquid = escaping ? ENGINES.escaping : ENGINES.plain;
  const parser = new LiquidParser(liquid, limits);
  let templates: Template[];
  try {
    templates = parser.parse(source);
  } catch (error) {
    throw toFault(error, 'syntax');
  }
  return {
    computed: parser.computed,
    render(record, emitter) {
      const context = new LiquidContext(record, liquid, new BudgetLimiter(new Budget(limits)), strict);
      try {
        toValueSync(liquid.renderer.renderTemplates(templates, context, emitter));
      } catch (error) {
        throw toFault(error, 'render');
      }
    },
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

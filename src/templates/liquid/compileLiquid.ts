import {
  Context,
  Liquid,
  LiquidError,
  Parser,
  TokenKind,
  toValueSync,
  type Emitter,
  type Template,
  type TopLevelToken,
} from 'liquidjs';
import { BoundedEmitter } from '../emitter.js';
import { Fault, limitFault, renderFault } from '../errors.js';
import { Budget, type TemplateLimits } from '../limits.js';

/** Tags that would load other templates, which Liquid templates may not do. */
const LOADING_TAGS = ['include', 'render', 'layout', 'block'];

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

/** A LiquidJS limiter backed by our budget. LiquidJS calls it at every node, and before it allocates memory. */
class BudgetLimiter {
  constructor(readonly budget: Budget) {}

  check(): void {
    this.budget.step();
  }

  use(count: number): void {
    if (count > 0) this.budget.allocate(count);
  }
}

/** Creates the engine for one kind of escaping. Captured output of blocks is bounded like the final output. */
function createLiquid(escaping: boolean): Liquid {
  const liquid = new Liquid({
    ownPropertyOnly: true,
    // Applies to strict templates.
    lenientIf: true,
    ...(escaping ? { outputEscape: 'escape' as const } : {}),
  });
  for (const tag of LOADING_TAGS) Reflect.deleteProperty(liquid.tags, tag);
  const { renderer } = liquid;
  const renderTemplates = renderer.renderTemplates.bind(renderer);
  renderer.renderTemplates = (templates, context, emitter) =>
    renderTemplates(templates, context, emitter ?? new BoundedEmitter(budgetOf(context).limits.outputLength));
  return liquid;
}

function budgetOf(context: Context): Budget {
  return (context.renderLimit as unknown as BudgetLimiter).budget;
}

const PLAIN = createLiquid(false);
const ESCAPING = createLiquid(true);

/** Compiles a Liquid template to a function that renders it, and throws Faults. @throws Fault of kind syntax or limit */
export function compileLiquid(
  source: string,
  limits: TemplateLimits,
  escaping: boolean,
  strict: boolean,
): (context: Record<string, unknown>, emitter: BoundedEmitter) => void {
  const liquid = escaping ? ESCAPING : PLAIN;
  let templates: Template[];
  try {
    templates = new LiquidParser(liquid, limits).parse(source);
  } catch (error) {
    throw toFault(error, 'syntax');
  }
  return (context, emitter) => {
    const limiter = new BudgetLimiter(new Budget(limits)) as unknown as Context['renderLimit'];
    const liquidContext = new Context(
      context,
      liquid.options,
      { sync: true, strictVariables: strict },
      { renderLimit: limiter, memoryLimit: limiter, liquid },
    );
    try {
      toValueSync(liquid.renderer.renderTemplates(templates, liquidContext, emitter));
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

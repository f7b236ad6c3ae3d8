import {
  Context,
  Liquid,
  LiquidError,
  Parser,
  Token,
  TokenKind,
  toValueSync,
  type Template,
  type TopLevelToken,
} from 'liquidjs';
import { contractOf } from './contract.js';

const must = contractOf('liquidjs');

type Limit = Context['renderLimit'];

const liquid = new Liquid();

/** Counts what LiquidJS calls, instead of its own limits. */
class Counter {
  checks = 0;
  used = 0;
  check(): void {
    this.checks += 1;
  }
  use(count: number): void {
    this.used += count;
  }
}

const render = (text: string, context: Context): unknown =>
  toValueSync(liquid.renderer.renderTemplates(liquid.parse(text), context));

describe('private parts of liquidjs', () => {
  it('`Parser`: `parseTokens`, `parseToken`', () => {
    const kinds: TokenKind[] = [];
    let lists = 0;
    class Watched extends Parser {
      override parseTokens(tokens: TopLevelToken[]): Template[] {
        lists += 1;
        return super.parseTokens(tokens);
      }
      override parseToken(
        token: TopLevelToken,
        remaining: TopLevelToken[],
      ): ReturnType<Parser['parseToken']> {
        kinds.push(token.kind);
        must(
          token.kind !== TokenKind.HTML || 'getContent' in token,
          'the token of a text no longer has getContent',
        );
        return super.parseToken(token, remaining);
      }
    }
    new Watched(liquid).parse('a{% if b %}c{{ d }}{% endif %}');
    must(lists > 0, 'Parser no longer calls its own parseTokens');
    const { HTML, Tag, Output } = TokenKind;
    must(
      kinds.join() === [HTML, Tag, HTML, Output].join(),
      'Parser no longer calls its own parseToken for each token, also within blocks',
    );
  });

  it('`Context`: `renderLimit`, `memoryLimit`', () => {
    const [renders, memory] = [new Counter(), new Counter()];
    const limits = { renderLimit: renders as unknown as Limit, memoryLimit: memory as unknown as Limit };
    render(`{{ 'abc' | append: 'def' }}`, new Context({}, liquid.options, { sync: true }, limits));
    must(renders.checks > 0, 'renderLimit.check is no longer called for each node');
    must(memory.used >= 6, 'memoryLimit.use is no longer called before filters make text');
  });

  it('`Context`: `registers`, `readProperty`, `spawn`', () => {
    const calls: string[] = [];
    class Watched extends Context {
      override readProperty(...given: Parameters<Context['readProperty']>): unknown {
        calls.push('readProperty');
        return super.readProperty(...given) as unknown;
      }
      override spawn(scope: object = {}): Context {
        calls.push('spawn');
        return super.spawn(scope);
      }
    }
    const context = new Watched({ list: [{ a: { b: 1 } }] }, liquid.options, { sync: true }, { liquid });
    const registers = Object.create(null) as object;
    Reflect.set(context, 'registers', registers);
    render(`{{ list[0].a }}{% cycle 'x', 'y' %}`, context);
    must(calls.includes('readProperty'), 'a name is no longer read by readProperty of the context');
    must(Object.keys(registers).length > 0, 'tags no longer keep their state in registers of the context');
    render(
      `{{ list | where_exp: 'item', 'item.a.b == 1' | size }}{{ list | where: 'a.b', 1 | size }}`,
      context,
    );
    must(calls.includes('spawn'), 'filters no longer read items in a context that spawn makes');
  });

  it('`renderer.renderTemplates` of an engine, replaced', () => {
    const own = new Liquid();
    const { renderer } = own;
    const renderTemplates = renderer.renderTemplates.bind(renderer);
    const emitters: boolean[] = [];
    renderer.renderTemplates = (templates, context, emitter) => {
      emitters.push(emitter !== undefined);
      return renderTemplates(templates, context, emitter);
    };
    const templates = own.parse('{% capture a %}b{% endcapture %}{% if a %}c{% endif %}');
    const context = new Context({}, own.options, { sync: true }, { liquid: own });
    toValueSync(renderer.renderTemplates(templates, context, { buffer: '', write: () => undefined }));
    must(
      emitters.join() === 'true,false,true',
      'blocks are no longer rendered by renderTemplates of the engine, captured ones without an emitter',
    );
  });

  it('`filters` and `tags` of an engine', () => {
    const own = new Liquid();
    for (const name of ['date', 'replace', 'json', 'where', 'group_by', 'slugify'])
      must(typeof own.filters[name] === 'function', `filters.${name} is no longer a function`);
    let hasContext = false;
    own.registerFilter('seen', function (value: unknown) {
      hasContext = this.context instanceof Context;
      return value;
    });
    own.parseAndRenderSync('{{ 1 | seen }}');
    must(hasContext, 'a filter no longer finds the context in `this`');
    must(Reflect.has(own, 'tags') && 'include' in own.tags, 'tags no longer holds the tags by name');
    Reflect.deleteProperty(own.tags, 'include');
    let isRefused = false;
    try {
      own.parse(`{% include 'a' %}`);
    } catch {
      isRefused = true;
    }
    must(isRefused, 'a tag that is deleted from tags is still known');
  });

  it('`LiquidError`: `originalError`, `token.begin`', () => {
    const reason = new Error('from a filter');
    const own = new Liquid();
    own.registerFilter('fail', () => {
      throw reason;
    });
    try {
      own.parseAndRenderSync('ab{{ 1 | fail }}');
    } catch (error) {
      must(LiquidError.is(error), 'an error of a filter is no longer a LiquidError');
      const { originalError, token } = error as LiquidError & { readonly originalError?: unknown };
      must(originalError === reason, 'LiquidError.originalError is no longer the error of the filter');
      must(token.begin === 2, 'LiquidError.token.begin is no longer the place in the template');
      return;
    }
    must(false, 'an error of a filter is no longer thrown');
  });

  it('`Template` and `Token` of our own, rendered by `renderTemplates`', () => {
    class Statement extends Token {}
    const token = new Statement(TokenKind.Tag, 'source', 0, 0);
    const reason = new Error('from a template');
    const contexts: unknown[] = [];
    const templates: Template[] = [
      { token, render: (context) => void contexts.push(context) },
      {
        token,
        render: () => {
          throw reason;
        },
      },
    ];
    const context = new Context({}, liquid.options, { sync: true }, { liquid });
    try {
      toValueSync(liquid.renderer.renderTemplates(templates, context));
    } catch (error) {
      must(contexts[0] === context, 'templates of our own are no longer rendered with the given context');
      const { originalError } = error as { readonly originalError?: unknown };
      must(
        LiquidError.is(error) && originalError === reason,
        'an error of a template of our own is no longer the originalError of a LiquidError',
      );
      return;
    }
    must(false, 'an error of a template of our own is no longer thrown');
  });
});

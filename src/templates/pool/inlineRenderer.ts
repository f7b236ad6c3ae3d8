import { LRUCache } from 'lru-cache';
import { TemplateError } from '../errors.js';
import type { TemplateLimits } from '../limits.js';
import type { LayoutSources } from '../jinja2/compileLayouts.js';
import { plainText } from '../plainText.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TaskResult, TemplateRequest, ThreadTask } from './templateJob.js';

/** Limits per task. */
const MAX_CONTEXT_CHARACTERS = 8_000;
const MAX_TEMPLATES = 10;
const MAX_SOURCE_CHARACTERS = 8_000;
const MAX_RENDER_MS = 10;
/** Maximum HTML to convert to plain text, which takes 0.07 ms for 1,000 characters. */
const MAX_HTML_CHARACTERS = 8_000;

/** Limits per template. The clock is checked at every step, because one step may process the whole context. */
const INLINE_LIMITS = {
  nesting: 20,
  nodes: 500,
  steps: 10_000,
  allocations: 30_000,
  outputLength: 30_000,
  formatWidth: 100,
  timeMs: MAX_RENDER_MS,
  clockSteps: 8,
} satisfies Partial<TemplateLimits>;

/** After a failed attempt, templates are sent to a thread this many times before the next inline attempt. */
const SKIP_COUNT = 50;
const MAX_SKIP_ENTRIES = 500;
/** Source characters of cached templates: this is the main thread's heap. */
const MAX_CACHE_CHARACTERS = 200_000;

/** Renders small tasks on the calling thread: a round trip to a worker thread would take longer. */
export class InlineRenderer {
  readonly #cache: CompiledCache;
  /** Sources that failed inline, with how many more times to skip them. */
  readonly #skips = new LRUCache<string, number>({ max: MAX_SKIP_ENTRIES });

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(strictest(limits), MAX_CACHE_CHARACTERS);
  }

  /** @returns undefined if the task is too large or fails; a thread then runs it, and reports the error */
  tryRun({ templates, layouts, contextJson }: ThreadTask): TaskResult | undefined {
    if (contextJson === undefined || !isSmall(templates, layouts, contextJson)) return undefined;
    const sources = templates.map(({ source }) => source).join('\0');
    if (this.#shouldSkip(sources)) return undefined;
    const result = this.#run(templates, layouts, contextJson);
    if (!result) this.#skips.set(sources, SKIP_COUNT);
    return result;
  }

  #run(
    templates: readonly TemplateRequest[],
    layouts: LayoutSources | undefined,
    contextJson: string,
  ): TaskResult | undefined {
    try {
      const compiled = templates.map((request) => this.#cache.get(request, layouts));
      if (!compiled.every(({ isPlain }) => isPlain)) return undefined;
      const context = new JsonContext(contextJson);
      const untilMs = performance.now() + MAX_RENDER_MS;
      const outcomes: RenderOutcome[] = [];
      for (const [index, template] of compiled.entries()) {
        const output = template.renderJson(context);
        const withPlainText = templates[index]?.withPlainText ?? false;
        if (withPlainText && output.length > MAX_HTML_CHARACTERS) return undefined;
        outcomes.push({ ok: true, output, ...(withPlainText ? { plainText: plainText(output) } : {}) });
        if (performance.now() > untilMs) return undefined;
      }
      return { outcomes };
    } catch (error) {
      return error instanceof TemplateError ? undefined : { bug: error };
    }
  }

  #shouldSkip(sources: string): boolean {
    const times = this.#skips.get(sources);
    if (times === undefined) return false;
    if (times > 1) this.#skips.set(sources, times - 1);
    else this.#skips.delete(sources);
    return true;
  }
}

function isSmall(
  templates: readonly TemplateRequest[],
  layouts: LayoutSources | undefined,
  contextJson: string,
): boolean {
  const sources = [...templates.map(({ source }) => source), ...Object.values(layouts ?? {})];
  return (
    contextJson.length <= MAX_CONTEXT_CHARACTERS &&
    templates.length <= MAX_TEMPLATES &&
    templates.every(({ syntax }) => syntax === 'jinja2') &&
    sources.reduce((sum, { length }) => sum + length, 0) <= MAX_SOURCE_CHARACTERS
  );
}

function strictest(limits: TemplateLimits): TemplateLimits {
  const inline = Object.entries(INLINE_LIMITS) as [keyof typeof INLINE_LIMITS, number][];
  return {
    ...limits,
    ...Object.fromEntries(inline.map(([name, most]) => [name, Math.min(limits[name], most)])),
  };
}

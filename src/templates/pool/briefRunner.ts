import { TemplateError } from '../errors.js';
import type { TemplateLimits } from '../limits.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TaskResult, TemplateRequest, ThreadTask } from './templateJob.js';

/** Of a task. */
const MAX_CONTEXT = 8_000;
const MAX_TEMPLATES = 10;
const MAX_SOURCE = 8_000;
const MAX_MS = 10;

/** Of each template. The clock is looked at so often because one step may handle the whole context. */
const BRIEF_LIMITS = {
  nesting: 20,
  nodes: 500,
  steps: 10_000,
  allocations: 30_000,
  outputLength: 30_000,
  formatWidth: 100,
  timeMs: MAX_MS,
  clockSteps: 8,
} satisfies Partial<TemplateLimits>;

/** Templates that were not for here go to a thread so many times before they are tried again. */
const REST = 50;
const MAX_RESTING = 500;
/** Characters of the compiled templates that are remembered: this memory is the service's own. */
const MAX_CACHED = 200_000;

/** Renders what is done in a moment, where it is called: the way to a thread and back would take longer. */
export class BriefRunner {
  readonly #cache: CompiledCache;
  /** Sources that were not for here, with how often they are still passed over. */
  readonly #resting = new Map<string, number>();

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(strictest(limits), MAX_CACHED);
  }

  /** @returns undefined when it takes more than a moment, or fails: a thread has the time to do it, and to say why */
  tryRun({ templates, contextJson }: ThreadTask): TaskResult | undefined {
    if (contextJson === undefined || !isSmall(templates, contextJson)) return undefined;
    const sources = templates.map(({ source }) => source).join('\0');
    if (this.#rests(sources)) return undefined;
    const result = this.#run(templates, contextJson);
    if (!result) this.#rest(sources);
    return result;
  }

  #run(templates: readonly TemplateRequest[], contextJson: string): TaskResult | undefined {
    try {
      const compiled = templates.map((request) => this.#cache.get(request));
      if (!compiled.every(({ isPlain }) => isPlain)) return undefined;
      const context = new JsonContext(contextJson);
      const untilMs = performance.now() + MAX_MS;
      const outcomes: RenderOutcome[] = [];
      for (const template of compiled) {
        outcomes.push({ ok: true, output: template.renderJson(context) });
        if (performance.now() > untilMs) return undefined;
      }
      return { outcomes };
    } catch (error) {
      return error instanceof TemplateError ? undefined : { bug: error };
    }
  }

  #rests(sources: string): boolean {
    const times = this.#resting.get(sources);
    if (times === undefined) return false;
    if (times > 1) this.#resting.set(sources, times - 1);
    else this.#resting.delete(sources);
    return true;
  }

  #rest(sources: string): void {
    if (this.#resting.size >= MAX_RESTING) this.#resting.clear();
    this.#resting.set(sources, REST);
  }
}

function isSmall(templates: readonly TemplateRequest[], contextJson: string): boolean {
  return (
    contextJson.length <= MAX_CONTEXT &&
    templates.length <= MAX_TEMPLATES &&
    templates.every(({ syntax }) => syntax === 'jinja2') &&
    templates.reduce((sum, { source }) => sum + source.length, 0) <= MAX_SOURCE
  );
}

function strictest(limits: TemplateLimits): TemplateLimits {
  const brief = Object.entries(BRIEF_LIMITS) as [keyof typeof BRIEF_LIMITS, number][];
  return {
    ...limits,
    ...Object.fromEntries(brief.map(([name, most]) => [name, Math.min(limits[name], most)])),
  };
}

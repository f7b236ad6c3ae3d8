import { TemplateError } from '../errors.js';
import type { TemplateLimits } from '../limits.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { TaskResult, ThreadTask } from './templateJob.js';

const MOST_CONTEXT = 8_000;

/** A millisecond or two of work. The time is for a machine that is busy, and ends nothing but the trial. */
const BRIEF_LIMITS = {
  sourceLength: 4_000,
  nesting: 20,
  nodes: 500,
  steps: 2_000,
  allocations: 10_000,
  outputLength: 30_000,
  formatWidth: 100,
  timeMs: 10,
} satisfies Partial<TemplateLimits>;

/** Renders what is done in a moment, where it is called: the way to a thread and back would take longer. */
export class BriefRunner {
  readonly #cache: CompiledCache;

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(strictest(limits));
  }

  /** @returns undefined when it takes more than a moment, or fails: a thread has the time to do it, and to say why */
  tryRun({ templates, contextJson }: ThreadTask): TaskResult | undefined {
    if (contextJson === undefined || contextJson.length > MOST_CONTEXT) return undefined;
    const context = new JsonContext(contextJson);
    const outputs: string[] = [];
    try {
      for (const request of templates) {
        const template = this.#cache.get(request);
        if (!template.isPlain) return undefined;
        outputs.push(template.renderJson(context));
      }
    } catch (error) {
      if (error instanceof TemplateError) return undefined;
      return { bug: error };
    }
    return { outcomes: outputs.map((output) => ({ ok: true, output })) };
  }
}

function strictest(limits: TemplateLimits): TemplateLimits {
  const brief = Object.entries(BRIEF_LIMITS) as [keyof typeof BRIEF_LIMITS, number][];
  return {
    ...limits,
    ...Object.fromEntries(brief.map(([name, most]) => [name, Math.min(limits[name], most)])),
  };
}

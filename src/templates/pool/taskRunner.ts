import { TemplateError } from '../errors.js';
import type { TemplateLimits } from '../limits.js';
import { plainText } from '../plainText.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TaskResult, TemplateRequest, ThreadTask } from './templateJob.js';

/** Compiles and renders tasks on the calling thread, caching compiled templates. */
export class TaskRunner {
  readonly #cache: CompiledCache;

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(limits);
  }

  run({ templates, contextJson }: ThreadTask): TaskResult {
    try {
      const context = contextJson === undefined ? undefined : new JsonContext(contextJson);
      return { outcomes: templates.map((request) => this.#runTemplate(request, context)) };
    } catch (error) {
      return { bug: error };
    }
  }

  #runTemplate(request: TemplateRequest, context: JsonContext | undefined): RenderOutcome {
    try {
      const template = this.#cache.get(request);
      if (context === undefined) return { ok: true, output: '' };
      const output = template.renderJson(context);
      return request.withPlainText
        ? { ok: true, output, plainText: plainText(output) }
        : { ok: true, output };
    } catch (error) {
      if (error instanceof TemplateError)
        return { ok: false, error: { name: request.name, ...error.toJSON() } };
      throw error;
    }
  }
}

import { TemplateError } from '../errors.js';
import type { LayoutSources } from '../jinja2/compileLayouts.js';
import type { TemplateLimits } from '../limits.js';
import { plainText } from '../plainText.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TaskResult, TemplateRequest, RenderTask } from './templateJob.js';

/** Compiles and renders tasks in the calling process, caching compiled templates. */
export class TaskRunner {
  readonly #cache: CompiledCache;

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(limits);
  }

  run({ templates, layouts, contextJson }: RenderTask): TaskResult {
    try {
      const context = contextJson === undefined ? undefined : new JsonContext(contextJson);
      return { outcomes: templates.map((request) => this.#runTemplate(request, layouts, context)) };
    } catch (error) {
      return { bug: error };
    }
  }

  #runTemplate(
    request: TemplateRequest,
    layouts: LayoutSources | undefined,
    context: JsonContext | undefined,
  ): RenderOutcome {
    try {
      const template = this.#cache.get(request, layouts);
      if (context === undefined) {
        template.check();
        return { ok: true, output: '', uses: template.uses, reads: template.reads() };
      }
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

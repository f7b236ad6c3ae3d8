import type { TemplateRead } from '../compileTemplate.js';
import { TemplateError } from '../errors.js';
import type { LayoutSources } from '../jinja2/compileLayouts.js';
import type { TemplateLimits } from '../limits.js';
import { plainText } from '../plainText.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TaskResult, TemplateRequest, RenderTask } from './templateJob.js';

/**
 * Output of all templates of a task, which is held by this process, on its way, and by the service at once: three of the longest.
 */
const MAX_PRINTED_CHARACTERS = 6_000_000;

/** Names in what the templates of a task read. An email has hundreds, and a warning names one; each is sent to the service. */
const MAX_READ_NAMES = 50_000;

/** Compiles and renders tasks in the calling process, caching compiled templates. */
export class TaskRunner {
  readonly #cache: CompiledCache;

  constructor(limits: TemplateLimits) {
    this.#cache = new CompiledCache(limits);
  }

  run({ templates, layouts, contextJson }: RenderTask): TaskResult {
    try {
      const context = contextJson === undefined ? undefined : new JsonContext(contextJson);
      let printed = 0;
      let names = 0;
      const isWithin = ({ path }: TemplateRead): boolean => (names += path.length) <= MAX_READ_NAMES;
      const outcomes = templates.map((request): RenderOutcome => {
        const given = this.#runTemplate(request, layouts, context);
        const outcome = given.ok && given.reads ? { ...given, reads: given.reads.filter(isWithin) } : given;
        printed += lengthOf(outcome);
        return printed > MAX_PRINTED_CHARACTERS ? tooMuch(request) : outcome;
      });
      return { outcomes };
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

/** Of what it prints, or of its error. */
export function lengthOf(outcome: RenderOutcome): number {
  if (outcome.ok) return outcome.output.length + (outcome.plainText?.length ?? 0);
  const { message, sourceLine, hint = '' } = outcome.error;
  return message.length + sourceLine.length + hint.length;
}

function tooMuch({ name }: TemplateRequest): RenderOutcome {
  const message = `the templates print more than ${MAX_PRINTED_CHARACTERS} characters together`;
  return { ok: false, error: { name, kind: 'limit', message, line: 1, column: 1, sourceLine: '' } };
}

import { workerData } from 'piscina';
import { TemplateError } from '../errors.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type { RenderOutcome, TemplateRequest, ThreadSettings, ThreadTask } from './templateJob.js';

const cache = new CompiledCache((workerData as ThreadSettings).limits);

/** Runs in a thread of the pool: renders (or only compiles) the templates of one task. */
export default function runTask({ templates, contextJson, startedAt }: ThreadTask): RenderOutcome[] {
  new Float64Array(startedAt)[0] = Date.now();
  const context = contextJson === undefined ? undefined : new JsonContext(contextJson);
  return templates.map((request) => runTemplate(request, context));
}

function runTemplate(request: TemplateRequest, context: JsonContext | undefined): RenderOutcome {
  try {
    const template = cache.get(request);
    return { ok: true, output: context === undefined ? '' : template.renderJson(context) };
  } catch (error) {
    if (error instanceof TemplateError)
      return { ok: false, error: { name: request.name, ...error.toJSON() } };
    throw error;
  }
}

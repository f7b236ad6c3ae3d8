import { parentPort, workerData } from 'node:worker_threads';
import { TemplateError } from '../errors.js';
import { JsonContext } from '../renderContext.js';
import { CompiledCache } from './compiledCache.js';
import type {
  RenderOutcome,
  TaskResult,
  TemplateRequest,
  ThreadAnswer,
  ThreadSettings,
  ThreadTask,
} from './templateJob.js';
import { ThreadProgress } from './threadProgress.js';

/** Results are posted early when they hold so many characters: a thread that dies for one task keeps little of others. */
const MOST_CHARACTERS_KEPT = 250_000;

const settings = workerData as ThreadSettings;
const progress = new ThreadProgress(settings.progress);
const cache = new CompiledCache(settings.limits);

parentPort?.on('message', runGroup);
post({ results: [], isFree: true });

function runGroup(tasks: readonly ThreadTask[]): void {
  let results: TaskResult[] = [];
  let characters = 0;
  for (const [index, task] of tasks.entries()) {
    if (!progress.begin(index)) break;
    const result = runTask(task);
    results.push(result);
    characters += lengthOf(result);
    if (characters <= MOST_CHARACTERS_KEPT) continue;
    post({ results, isFree: false });
    results = [];
    characters = 0;
  }
  post({ results, isFree: true });
}

function post(answer: ThreadAnswer): void {
  parentPort?.postMessage(answer);
}

function runTask({ templates, contextJson }: ThreadTask): TaskResult {
  try {
    const context = contextJson === undefined ? undefined : new JsonContext(contextJson);
    return { outcomes: templates.map((request) => runTemplate(request, context)) };
  } catch (error) {
    return { bug: error };
  }
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

function lengthOf(result: TaskResult): number {
  if ('bug' in result) return 0;
  return result.outcomes.reduce((sum, outcome) => sum + (outcome.ok ? outcome.output.length : 0), 0);
}

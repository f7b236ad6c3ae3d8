import { parentPort, workerData } from 'node:worker_threads';
import { freezeIntrinsics } from './freezeIntrinsics.js';
import { TaskRunner } from './taskRunner.js';
import type { RenderOutcome, TaskResult, ThreadMessage, ThreadSettings, ThreadTask } from './templateJob.js';
import { ThreadProgress } from './threadProgress.js';

/** Results are posted early at this size, so that a thread that dies for one task loses few results of others. */
const MAX_UNPOSTED_CHARACTERS = 250_000;

freezeIntrinsics();
const settings = workerData as ThreadSettings;
const progress = new ThreadProgress(settings.progress);
const runner = new TaskRunner(settings.limits);

parentPort?.on('message', runGroup);
post({ results: [], isFree: true });

function runGroup(tasks: readonly ThreadTask[]): void {
  let results: TaskResult[] = [];
  let characters = 0;
  for (const [index, task] of tasks.entries()) {
    if (!progress.begin(index)) break;
    const result = runner.run(task);
    results.push(result);
    characters += lengthOf(result);
    if (characters <= MAX_UNPOSTED_CHARACTERS) continue;
    post({ results, isFree: false });
    results = [];
    characters = 0;
  }
  post({ results, isFree: true });
}

function post(answer: ThreadMessage): void {
  parentPort?.postMessage(answer);
}

function lengthOf(result: TaskResult): number {
  if ('bug' in result) return 0;
  return result.outcomes.reduce((sum, outcome) => sum + lengthOfOutcome(outcome), 0);
}

function lengthOfOutcome(outcome: RenderOutcome): number {
  return outcome.ok ? outcome.output.length + (outcome.plainText?.length ?? 0) : 0;
}

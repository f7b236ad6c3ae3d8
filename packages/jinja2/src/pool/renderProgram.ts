// The program of a render process: renders groups of tasks that the pool sends, one after the other.
import { writeSync } from 'node:fs';
import { freezeIntrinsics } from './freezeIntrinsics.js';
import { REASSIGN_AFTER_MS, PROGRESS_FD } from './renderProtocol.js';
import type { RenderGroup, RenderMessage } from './renderProtocol.js';
import { lengthOf, TaskRunner } from './taskRunner.js';
import type { TaskResult } from './templateJob.js';
import type { TemplateLimits } from '../limits.js';

/** Results are sent early at this size, so that a process that dies for one task loses few results of others. */
const MAX_UNSENT_CHARACTERS = 250_000;

// Who ends the service ends it through its own process, which finishes its jobs first.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => undefined);
process.on('disconnect', () => process.exit());

freezeIntrinsics();
const runner = new TaskRunner(JSON.parse(process.argv[2] ?? '{}') as TemplateLimits);

process.on('message', (group: RenderGroup) => runGroup(group));
send({ results: [], isFree: true });

function runGroup({ first, tasks }: RenderGroup): void {
  const progress = Buffer.alloc(4);
  const untilMs = performance.now() + REASSIGN_AFTER_MS;
  let results: TaskResult[] = [];
  let characters = 0;
  for (const [index, task] of tasks.entries()) {
    if (index > 0 && performance.now() > untilMs) break;
    progress.writeUInt32LE(first + index);
    // Unlike a message, it has left even if the task never returns.
    writeSync(PROGRESS_FD, progress);
    const result = runner.run(task);
    results.push(result);
    characters += sizeOf(result);
    if (characters <= MAX_UNSENT_CHARACTERS) continue;
    send({ results, isFree: false });
    results = [];
    characters = 0;
  }
  send({ results, isFree: true });
}

function send(message: RenderMessage): void {
  process.send?.(message);
}

function sizeOf(result: TaskResult): number {
  return 'bug' in result ? 0 : result.outcomes.reduce((sum, outcome) => sum + lengthOf(outcome), 0);
}

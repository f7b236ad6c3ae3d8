import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Signals processes and all that descend from them, as if their machine did it at once. Those that have ended don't count.
 * @returns all of them
 */
export async function signalTrees(
  roots: readonly number[],
  signal: NodeJS.Signals,
): Promise<ReadonlySet<number>> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  const pairs = stdout.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const found = new Set(roots);
  // A set visits what is added while it is visited.
  for (const parent of found) {
    for (const [pid, ppid] of pairs) if (ppid === parent && pid !== undefined) found.add(pid);
  }
  for (const pid of found) signalOne(pid, signal);
  return found;
}

export function signalOne(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ESRCH') throw error;
  }
}

import { spawnSync } from 'node:child_process';

/** Skips a suite or test whose oracle is Python where the machine has none. */
export function requirePython(context: Mocha.Context): void {
  if (spawnSync('python3', ['--version']).status === 0) return;
  if (context.test) context.test.title += ' (skipped: there is no python3)';
  context.skip();
}

/** Runs a script that reads JSON from its input and writes JSON to its output. */
export function runPython(script: string, input: unknown): unknown {
  const { status, stdout, stderr } = spawnSync('python3', ['-c', script], {
    input: JSON.stringify(input),
    encoding: 'utf8',
    maxBuffer: 200_000_000,
    env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
  });
  if (status !== 0) throw new Error(`python3 failed: ${stderr}`);
  return JSON.parse(stdout) as unknown;
}

import { spawnSync } from 'node:child_process';

const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

/** A test whose oracle is Python; left out where the machine has none, which a line says. */
export function itWithPython(title: string, test: () => void | Promise<void>): void {
  if (HAS_PYTHON) it(title, test);
  else console.log(`      skipped, there is no python3: ${title}`);
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

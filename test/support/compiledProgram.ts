import { rm } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { atEndOfRun } from './teardown.js';

/** Where packages are found from. */
const FOLDER = fileURLToPath(
  new URL(`../../node_modules/.cache/rowpost-test-programs/${process.pid}/`, import.meta.url),
);

const programs = new Map<string, Promise<string>>();

/**
 * A program that tests start in processes of its own, compiled once in a run: tsx would take 2 s of CPU time for the
 * modules of each process.
 * @returns its JavaScript file
 */
export function compiledProgram(source: URL): Promise<string> {
  const file = fileURLToPath(source);
  let program = programs.get(file);
  if (!program) {
    if (programs.size === 0) atEndOfRun(() => rm(FOLDER, { recursive: true, force: true }));
    program = compile(file);
    programs.set(file, program);
  }
  return program;
}

async function compile(file: string): Promise<string> {
  const outfile = path.join(FOLDER, `${path.basename(file, '.ts')}.mjs`);
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    packages: 'external',
    format: 'esm',
    platform: 'node',
    target: 'node20',
  });
  return outfile;
}

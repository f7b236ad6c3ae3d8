import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { testEnv } from '../support/testConfig.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Pages whose commands run. */
type Page = 'docs/how-to/backup.md' | 'docs/how-to/cells.md';

/** Runs the commands of a page as somebody would type them: `rowpost` is the shipped program. */
export interface Recipes {
  /** Where they run. */
  readonly folder: string;
  /** @param names of the blocks, which share one shell. Status and output; a failing command ends them. */
  run(
    names: readonly string[],
    env: Readonly<Record<string, string>>,
    as?: { readonly uid: number; readonly gid: number },
  ): Promise<{ readonly code: number; readonly output: string }>;
}

export async function openRecipes(page: Page = 'docs/how-to/backup.md'): Promise<Recipes> {
  const blocks = readBlocks(page);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-recipes-'));
  await writeFile(path.join(folder, 'rowpost'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(path.join(folder, 'rowpost'), 0o755);
  const searched = `${folder}:${process.env['PATH'] ?? ''}`;
  return {
    folder,
    run(names, env, as) {
      const commands = names.map((name) => {
        const block = blocks.get(name);
        if (block === undefined) throw new Error(`${page} has no block "sh ${name}"`);
        return block;
      });
      return new Promise((resolve) => {
        execFile(
          'bash',
          ['--norc', '-euo', 'pipefail', '-c', commands.join('\n')],
          { cwd: as ? '/' : folder, env: { ...testEnv(env), PATH: searched, HOME: folder }, ...as },
          (error, stdout, stderr) =>
            resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}` }),
        );
      });
    },
  };
}

/** By what follows `sh` on the line that opens them. */
function readBlocks(page: Page): ReadonlyMap<string, string> {
  const text = readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
  return new Map(
    [...text.matchAll(/^```sh ([^\n]+)\n(.*?)^```$/gms)].map(([, name, block]) => [name!, block!]),
  );
}

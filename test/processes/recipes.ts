import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { chmod, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { testEnv } from '../support/testConfig.js';

const MAIN = fileURLToPath(new URL('../../dist/main.js', import.meta.url));

/** Pages whose commands run. */
type Page =
  | 'docs/how-to/backup.md'
  | 'docs/how-to/cells.md'
  | 'docs/reference/capture-and-grants.md'
  | 'docs/reference/metrics-and-alerts.md'
  | 'docs/tutorials/existing-database.md';

interface RunOptions {
  readonly uid?: number;
  readonly gid?: number;
  readonly input?: string;
}

/**
 * Runs the commands of a page as somebody would type them: `rowpost` and `node dist/main.js` are the shipped program. Addresses and
 * names that a block exports are examples, instead of which `env` has the reader's.
 */
export interface Recipes {
  /** Where they run. */
  readonly folder: string;
  /** @param names of the blocks, which share one shell. Status and output; a failing command ends them. */
  run(
    names: readonly string[],
    env: Readonly<Record<string, string>>,
    options?: RunOptions,
  ): Promise<{ readonly code: number; readonly output: string; readonly stdout: string }>;
}

export async function openRecipes(page: Page): Promise<Recipes> {
  const blocks = readBlocks(page);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-recipes-'));
  await writeFile(path.join(folder, 'rowpost'), `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`);
  await chmod(path.join(folder, 'rowpost'), 0o755);
  await symlink(path.dirname(MAIN), path.join(folder, 'dist'));
  const searched = `${folder}:${path.dirname(process.execPath)}:${process.env['PATH'] ?? ''}`;
  return {
    folder,
    run(names, env, { input = '', ...as } = {}) {
      const commands = names.map((name) => {
        const block = blocks.get(name);
        if (block === undefined) throw new Error(`${page} has no block "sh ${name}"`);
        return block.replaceAll(/^export [^$\n]*\n/gm, '').replaceAll('/etc/haproxy/', `${folder}/`);
      });
      return new Promise((resolve) => {
        const shell = execFile(
          'bash',
          ['--norc', '-euo', 'pipefail', '-c', commands.join('\n')],
          {
            cwd: as.uid === undefined ? folder : '/',
            env: { ...testEnv(env), PATH: searched, HOME: folder },
            ...as,
          },
          (error, stdout, stderr) =>
            resolve({ code: Number(error?.code ?? 0), output: `${stdout}${stderr}`, stdout }),
        );
        shell.stdin!.on('error', () => undefined); // of commands that end without reading it
        shell.stdin!.end(input);
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

import { readCells, readMovedTenants } from '../db/cells/directory/cells.js';
import { migrateDirectory, type Directory } from '../db/cells/directory/directory.js';
import { ownValue } from '../foundation/ownValue.js';
import { withDirectory } from './cells.js';
import { ArgumentError, printJson, type Command } from './command.js';

const SUBCOMMANDS: Readonly<Record<string, (directory: Directory) => Promise<void>>> = {
  /** Prints one JSON line: {"applied":[…]}. */
  async release(directory) {
    printJson({ applied: await migrateDirectory(directory) });
  },
  /** Prints one JSON line per cell. */
  async list(directory) {
    for (const { name, baseUrl, idRange } of await readCells(directory)) {
      printJson({ cell: name, base_url: baseUrl, id_range: idRange });
    }
  },
  /** For deploy/proxy/cells.cfg: the cell of each tenant that has moved, and of each id range. */
  async map(directory) {
    for (const { tenantid, cell } of await readMovedTenants(directory)) print(`${tenantid} ${cell}`);
    for (const { idRange, name } of await readCells(directory)) print(`range-${idRange} ${name}`);
  },
};

export const directory: Command = async ([name = '', ...args]) => {
  const run = ownValue(SUBCOMMANDS, name);
  if (!run || args.length > 0) {
    throw new ArgumentError(`unknown subcommand; use ${Object.keys(SUBCOMMANDS).join(', ')}`);
  }
  return withDirectory(run);
};

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

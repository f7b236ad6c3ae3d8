import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../peers/', import.meta.url);

/** A file of bench/peers, which has its own lock file. Throws when it is not installed. */
export function peerFile(name: string): URL {
  const file = new URL(name, FOLDER);
  if (!existsSync(file)) {
    throw new Error(`bench/peers lacks ${name}: run "npm ci" in ${fileURLToPath(FOLDER)}`);
  }
  return file;
}

/** The Node that the peers need, newer than the one that Rowpost is content with. */
export function peerNode(): string {
  return fileURLToPath(peerFile(`node_modules/node-${process.platform}-${process.arch}/bin/node`));
}

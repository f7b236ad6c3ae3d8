import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = new URL('../peers/', import.meta.url);

/** How bench/peers is installed: it has a lock file of its own, and Directus stands apart from it. */
const INSTALL = 'npm ci && npm install --prefix directus';

/** A file of bench/peers. Throws when it is not installed. */
export function peerFile(name: string): URL {
  const file = new URL(name, FOLDER);
  if (!existsSync(file)) {
    throw new Error(`bench/peers lacks ${name}: run "${INSTALL}" in ${fileURLToPath(FOLDER)}`);
  }
  return file;
}

/** The Node that the peers need, newer than the one that Rowpost is content with. */
export function peerNode(): string {
  return fileURLToPath(peerFile(`node_modules/node-${process.platform}-${process.arch}/bin/node`));
}

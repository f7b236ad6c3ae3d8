import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect } from 'chai';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

describe('npm run docs:site', () => {
  it('builds a page for every Markdown file, whose links all lead somewhere', async () => {
    const run = promisify(execFile);
    const { stdout } = await run(process.execPath, ['scripts/docsSite.mjs'], { cwd: ROOT });
    const { stdout: files } = await run('git', ['ls-files', '*.md'], { cwd: ROOT });
    // And the page for addresses that lead nowhere.
    expect(stdout).to.include(`${files.trim().split('\n').length + 1} pages in site/`);
    const page = readFileSync(path.join(ROOT, 'site/docs/explanation/guarantees.html'), 'utf8');
    expect(page).to.include('Duplicates have one cause').and.include('VPNavBarSearch');
  });
});

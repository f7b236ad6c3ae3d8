import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'bench/README.md',
  'packages/jinja2/README.md',
  ...readdirSync(new URL('docs/', ROOT)).map((name) => `docs/${name}`),
];

describe('documentation', () => {
  for (const page of PAGES.filter((name) => name.endsWith('.md'))) {
    it(`${page} names only files that exist`, () => {
      const text = readFileSync(new URL(page, ROOT), 'utf8');
      const named = [
        ...text.matchAll(/`((?:src|packages|migrations|test|bench|scripts|docs)\/[\w./-]*\w\/?)`/g),
      ].map((m) => m[1]!);
      const linked = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(
        (m) => new URL(m[1]!, new URL(page, ROOT)).href,
      );
      // The page of a package names files of the package, too.
      const folders = page.startsWith('packages/') ? [ROOT, new URL(page, ROOT)] : [ROOT];
      const missing = [
        ...named.filter((path) => !folders.some((folder) => existsSync(new URL(path, folder)))),
        ...linked.filter((href) => !existsSync(new URL(href))),
      ];
      expect(missing).to.deep.equal([]);
    });
  }
});

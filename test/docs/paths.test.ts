import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { expect } from 'chai';

const ROOT = new URL('../../', import.meta.url);
const PAGES = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  'bench/pipeline/README.md',
  'bench/simulate/README.md',
  'bench/twin/README.md',
  'fault/README.md',
  'src/foundation/limits/README.md',
  'packages/jinja2/README.md',
  ...readdirSync(new URL('docs/', ROOT), { encoding: 'utf8', recursive: true }).map((name) => `docs/${name}`),
];

/** As paths from the project's folder, each after a slash. */
const SOURCES = execFileSync('git', ['ls-files', 'src', 'packages', 'test', 'scripts'], {
  cwd: ROOT,
  encoding: 'utf8',
}).replaceAll(/^/gm, '/');

describe('documentation', () => {
  for (const page of PAGES.filter((name) => name.endsWith('.md'))) {
    it(`${page} names only files that exist`, () => {
      const text = readFileSync(new URL(page, ROOT), 'utf8');
      const named = [
        ...text.matchAll(/`((?:src|packages|migrations|test|bench|fault|scripts|docs)\/[\w./-]*\w\/?)`/g),
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

    it(`${page} names only source files that exist, also without their folders`, () => {
      const text = readFileSync(new URL(page, ROOT), 'utf8');
      const named = [...text.matchAll(/`([\w./-]*\.ts)`/g)].map((m) => m[1]!);
      const missing = named.filter(
        (name) =>
          !SOURCES.includes(`/${name}\n`) &&
          ![ROOT, new URL(page, ROOT)].some((base) => existsSync(new URL(name, base))),
      );
      expect(missing).to.deep.equal([]);
    });

    it(`${page} has as many cells in each row of a table as in its head`, () => {
      const text = readFileSync(new URL(page, ROOT), 'utf8').replace(/^\s*```[\s\S]*?^\s*```/gm, '');
      const tables = [...text.matchAll(/(?:^ *\|.*\|\n)+/gm)].map(([table]) => table.trim().split('\n'));
      const cells = (row: string): number => row.replaceAll('\\|', '').split('|').length;
      const uneven = tables.flatMap(([head = '', ...rows]) =>
        rows.filter((row) => cells(row) !== cells(head)),
      );
      expect(uneven).to.deep.equal([]);
    });

    it(`${page} leads only to headings that exist`, () => {
      const text = readFileSync(new URL(page, ROOT), 'utf8');
      const missing = [...text.matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)]
        .filter(([, file = '', anchor = '']) => {
          const target = new URL(file === '' ? page : file, file === '' ? ROOT : new URL(page, ROOT));
          return !anchorsOf(readFileSync(target, 'utf8')).has(anchor);
        })
        .map(([link]) => link);
      expect(missing).to.deep.equal([]);
    });
  }
});

describe('pictures', () => {
  const shown = PAGES.filter((name) => name.endsWith('.md')).flatMap((page) =>
    [...readFileSync(new URL(page, ROOT), 'utf8').matchAll(/!\[([^\]]*)\]\(([^)]+)\)/g)].map(
      ([, text = '', file = '']) => ({ text, file: new URL(file, new URL(page, ROOT)).href }),
    ),
  );

  it('have alternative text that says what they show', () => {
    expect(shown.filter(({ text }) => text.split(' ').length < 6)).to.deep.equal([]);
  });

  it('are each on a page', () => {
    const files = new Set(shown.map(({ file }) => file));
    const unused = readdirSync(new URL('docs/images/', ROOT)).filter(
      (name) => !files.has(new URL(`docs/images/${name}`, ROOT).href),
    );
    expect(unused).to.deep.equal([]);
  });
});

/** As code hosts make them: https://github.com/gjtorikian/html-pipeline/blob/main/lib/html_pipeline/toc_filter.rb */
function anchorsOf(markdown: string): Set<string> {
  const withoutCode = markdown.replace(/^```[\s\S]*?^```/gm, '');
  const headings = [...withoutCode.matchAll(/^#{1,6} (.+)$/gm)].map(([, heading = '']) =>
    heading
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
  const seen = new Map<string, number>();
  const anchors = headings.map((slug) => {
    const times = seen.get(slug) ?? 0;
    seen.set(slug, times + 1);
    return times === 0 ? slug : `${slug}-${times}`;
  });
  const named = [...markdown.matchAll(/<a (?:id|name)="([^"]+)"/g)].map(([, id = '']) => id);
  return new Set([...anchors, ...named]);
}

import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect } from 'chai';

const ROOT = new URL('../../', import.meta.url);
const read = (file: string): string => readFileSync(new URL(file, ROOT), 'utf8');

/** What a page shows as a block: a request, a command, SQL or a program. */
interface Block {
  readonly page: string;
  readonly kind: string;
  readonly text: string;
  readonly line: number;
}

/** What runs the blocks of a page, compares them with what is run, or writes them. */
const RUN_BY: Readonly<Record<string, readonly [page: string, kinds: RegExp, texts?: RegExp][]>> = {
  'test/docs/guides.test.ts': [
    ['docs/tutorials/first-email.md', /^graphql/],
    ['docs/how-to/from-the-original-service.md', /./],
    ['docs/how-to/roles-and-permissions.md', /./],
    ['docs/how-to/clients.md', /./],
    ['docs/how-to/carriers.md', /^graphql/],
    ['docs/how-to/files.md', /./],
    ['docs/how-to/find-a-missing-email.md', /./],
    ['docs/how-to/sign-up.md', /./],
    ['docs/how-to/unsubscribe-and-suppress.md', /./],
    ['docs/reference/email.md', /./],
    ['docs/reference/roles_pbac-examples.md', /./],
  ],
  'test/docs/apiExamples.test.ts': [['docs/reference/query.md', /^(graphql( roles_pbac)?|sql)$/]],
  'test/docs/signIn.test.ts': [['docs/reference/query.md', /^sh$/]],
  'test/docs/emailLayout.test.ts': [['docs/tutorials/complete-email.md', /./]],
  'test/docs/errorExamples.test.ts': [['docs/reference/errors.md', /./]],
  'test/docs/templates.test.ts': [['docs/reference/templates.md', /./]],
  'test/docs/readme.test.ts': [['README.md', /./]],
  'scripts/docs.ts': [
    ['docs/reference/cli.md', /./],
    ['docs/reference/roles_pbac.md', /./],
  ],
  'test/api/oidc/walkThrough.test.ts': [
    ['docs/how-to/single-sign-on.md', /^graphql/],
    ['docs/how-to/single-sign-on.md', /^sh$/, /certifiedProvider\.mjs|\/oidc -H/],
  ],
  'test/slow/api/oidc/certifiedSignOut.test.ts': [
    ['docs/how-to/single-sign-on.md', /^sh$/, /\/oidc\/logout -H/],
  ],
  'test/slow/commands/existingDatabase.test.ts': [
    ['docs/tutorials/existing-database.md', /^(sh|sql|json|graphql) \w+/],
    ['docs/reference/capture-and-grants.md', /^sh capture$/],
    ['docs/reference/metrics-and-alerts.md', /^sh redrive$/],
  ],
  'test/slow/processes/backupRecipes.test.ts': [
    [
      'docs/how-to/backup.md',
      /^sh (backup role|dump|restore.*|release|base|recover|keys|keys first|password|drain)$/,
    ],
  ],
  'test/slow/processes/moveTenant.test.ts': [['docs/how-to/backup.md', /^sh (suspend|export|import|open)$/]],
  'test/docs/install.test.ts': [['docs/how-to/install.md', /./]],
  'test/docs/sqlBlocks.test.ts': [
    ['docs/how-to/run.md', /^sql$/],
    ['docs/how-to/poolers.md', /^sql$/],
    ['docs/how-to/cells.md', /^sql$/],
    ['docs/how-to/monitor.md', /^sql$/],
    ['docs/how-to/carriers.md', /^sql$/],
  ],
  'test/slow/attack/manyPolicies.test.ts': [['docs/how-to/monitor.md', /^sh policies$/]],
  'test/slow/attack/manyObjects.test.ts': [['docs/how-to/monitor.md', /^sh tables$/]],
  'test/slow/processes/followTenant.test.ts': [
    ['docs/how-to/cells.md', /^sh (replication role|follow|uncopied|move followed)$/],
  ],
  'test/slow/processes/moveAdopted.test.ts': [['docs/how-to/cells.md', /^sh (adopted.*|\w+ cell)$/]],
  'test/slow/processes/cellsFront.test.ts': [['docs/how-to/cells.md', /^sh (move|map)$/]],
};

/** The others, by page and what they contain, with the reason. */
const NOT_RUN: readonly (readonly [page: string, part: string, reason: string])[] = [
  [
    'docs/tutorials/first-email.md',
    'npm run demo',
    'installs and builds; test/slow/docs/firstEmail.test.ts runs the demo',
  ],
  ['docs/how-to/monitor.md', 'POST /query\n└', 'the spans of a trace; test/slow/processes/tracing.test.ts'],
];

const PAGES = execFileSync('git', ['ls-files', 'README.md', 'docs/*.md'], { cwd: ROOT, encoding: 'utf8' })
  .trim()
  .split('\n');

const blocks = PAGES.flatMap((page): Block[] => {
  const text = read(page);
  return [...text.matchAll(/^( *)```([^\n`]+)\n(.*?)^\1```$/gms)].map((match) => ({
    page,
    kind: match[2]!,
    text: match[3]!.replaceAll(new RegExp(`^${match[1]!}`, 'gm'), ''),
    line: text.slice(0, match.index).split('\n').length,
  }));
});

/** JSON, and the text after what prints it. */
const isResponse = (block: Block): boolean => {
  const { kind, page } = blocks[blocks.indexOf(block) - 1] ?? {};
  return (
    /^json/.test(block.kind) ||
    (block.kind === 'text' && page === block.page && /^(sh|python|js)/.test(kind!))
  );
};

describe('blocks of the documentation', () => {
  const runs = Object.entries(RUN_BY).flatMap(([test, pages]) =>
    pages.map(([page, kinds, texts = /^/]) => ({
      test,
      page,
      has: (block: Block) => page === block.page && kinds.test(block.kind) && texts.test(block.text),
    })),
  );

  it('are all run by a test, or listed with the reason why not', () => {
    const left = blocks.filter(
      (block) =>
        !isResponse(block) &&
        !runs.some(({ has }) => has(block)) &&
        !NOT_RUN.some(([page, part]) => page === block.page && block.text.includes(part)),
    );
    expect(left.map(({ page, line, kind }) => `${page}:${line} ${kind}`)).to.deep.equal([]);
  });

  for (const { test, page } of runs) {
    it(`of ${page} are known to ${test}`, () => {
      expect(read(test)).to.include(page.replace('docs/', ''));
    });
  }

  it('that have a name are run by it', () => {
    const names = blocks.flatMap((block) => {
      const [, name] = /^(?:sh|sql) (.+)$/.exec(block.kind) ?? [];
      const tests = runs.filter(({ has }) => has(block)).map(({ test }) => read(test));
      const isRun = tests.some((text) => text.includes(`${name}'`));
      return name === undefined ? [] : [{ page: block.page, name, isRun }];
    });
    expect(names).to.have.length.above(20);
    expect(names.filter(({ isRun }) => !isRun)).to.deep.equal([]);
  });

  it('that are not run exist', () => {
    const stale = NOT_RUN.filter(
      ([page, part]) => !blocks.some((block) => block.page === page && block.text.includes(part)),
    );
    expect(stale).to.deep.equal([]);
  });
});

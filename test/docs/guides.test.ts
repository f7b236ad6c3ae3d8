import { spawnSync } from 'node:child_process';
import { expect } from 'chai';
import { DemoShop, readSteps, type Step } from './guide.js';

/** Pages whose blocks are run one after the other, each page on a demo of its own. */
const GUIDES = [
  'tutorials/first-email.md',
  'how-to/from-the-original-service.md',
  'how-to/roles-and-permissions.md',
  'how-to/clients.md',
  'how-to/carriers.md',
  'how-to/files.md',
  'how-to/find-a-missing-email.md',
  'how-to/sign-up.md',
  'how-to/unsubscribe-and-suppress.md',
  'reference/email.md',
  'reference/roles_pbac-examples.md',
];

/** Pages about emails that the demo has sent, and how many those are. */
const SENT = new Map([
  ['reference/email.md', 2],
  ['reference/roles_pbac-examples.md', 2],
]);

const HAS_PYTHON = spawnSync('python3', ['--version']).status === 0;

for (const page of GUIDES) {
  describe(`docs/${page}`, () => {
    let shop: DemoShop;
    before(async () => {
      shop = await DemoShop.open();
      const sent = SENT.get(page);
      if (sent !== undefined) await shop.sendEmails(sent);
    });
    after(() => shop.close());

    for (const step of readSteps(page)) {
      if (step.text === 'npm run demo\n' || (step.language === 'python' && !HAS_PYTHON)) continue;
      // Run by test/docs/sqlBlocks.test.ts.
      if (step.language === 'sql' && page === 'how-to/carriers.md') continue;
      it(`line ${step.line} returns what the page shows`, () => checkStep(shop, step));
    }
  });
}

async function checkStep(shop: DemoShop, step: Step): Promise<void> {
  if (step.language === 'sql') return shop.runSql(step.text);
  if (step.language !== 'graphql') {
    expect(step.output, 'what it prints').to.be.a('string');
    const printed = await shop.run(step);
    expect(withEllipses(printed.trimEnd(), step.output!.trimEnd())).to.equal(step.output!.trimEnd());
    return;
  }
  const { data, errors } = await shop.send(step);
  if (step.errors) {
    expect(partOf(errors, step.errors)).to.deep.equal(step.errors);
    return;
  }
  expect(errors).to.equal(undefined);
  expect(step.data, 'the response').to.be.an('object');
  expect(partOf(data, step.data)).to.deep.equal(step.data);
}

/** Of `actual` what `shown` shows: of an object the names that it has, and any text where it has `…`. */
function partOf(actual: unknown, shown: unknown): unknown {
  if (shown === '…') return actual === undefined || actual === null ? actual : '…';
  if (Array.isArray(shown) && Array.isArray(actual))
    return actual.map((item, index) => partOf(item, shown[index]));
  if (typeof shown !== 'object' || shown === null || Array.isArray(shown)) return actual;
  const found = actual as Record<string, unknown> | null;
  return Object.fromEntries(
    Object.entries(shown).map(([name, value]) => [name, partOf(found?.[name], value)]),
  );
}

/** Lines of `printed` where `shown` has the same, or has `…` for what differs between runs. */
function withEllipses(printed: string, shown: string): string {
  const lines = shown.split('\n');
  return printed
    .split('\n')
    .map((line, index) => {
      const expected = lines[index] ?? '';
      const pattern = expected
        .split('…')
        .map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))
        .join('.+');
      return new RegExp(`^${pattern}$`).test(line) ? expected : line;
    })
    .join('\n');
}

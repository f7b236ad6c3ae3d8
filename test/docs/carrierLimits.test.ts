import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { CARRIERS } from '../../src/email/carriers/allCarriers.js';

const page = (name: string): string => readFileSync(new URL(`../../docs/${name}`, import.meta.url), 'utf8');
const rowsOf = (section: string): readonly string[] =>
  section.split('\n').filter((line) => /^\| (?!Carrier|---)/.test(line));

describe('what the docs say of every carrier', () => {
  it('docs/reference/limits.md has its limits', () => {
    const rows = CARRIERS.map(({ title, limits }) => {
      const { maxRecipients, maxBytes, allowsUtf8Addresses } = limits;
      const [recipients, megabytes] = [maxRecipients, maxBytes / 1_000_000].map((n) =>
        n.toLocaleString('en'),
      );
      return `| ${title} | ${recipients} | ${megabytes} MB | ${allowsUtf8Addresses ? 'yes' : 'no'} |`;
    });
    const [, section = ''] = /^## Emails$(.*?)^Files are sent/ms.exec(page('reference/limits.md')) ?? [];
    expect(rowsOf(section)).to.deep.equal(rows);
  });

  it('docs/how-to/carriers.md lists it, and has a section about it', () => {
    const text = page('how-to/carriers.md');
    const [, table = ''] = /^(\| Carrier \| `kind` \|.*?)\n\n/ms.exec(text) ?? [];
    const listed = rowsOf(table).map((row) => row.split(' | '));
    const expected = CARRIERS.map(({ kind, isIdempotent }) => [`\`${kind}\``, isIdempotent ?? false]);
    expect(
      listed.map(([, kind, duplicates]) => [kind, /idempotency key/.test(duplicates ?? '')]),
    ).to.deep.equal(expected);
    CARRIERS.forEach(({ title }, index) => {
      const section = listed[index]?.[0]?.match(/\[(.*)\]/)?.[1] ?? '';
      expect(title).to.include(section);
      expect(text).to.include(`\n### ${section}\n`);
    });
  });

  it('docs/how-to/carriers.md says how it reports', () => {
    const [, section = ''] =
      /^## What carriers report afterwards$(.*?)^## /ms.exec(page('how-to/carriers.md')) ?? [];
    const listed = rowsOf(section).map((row) => row.split(' | ')[0]?.slice(2));
    for (const { title, reports } of CARRIERS) if (reports?.secret) expect(listed).to.include(title);
  });

  it('docs/reference/carriers.md says what its responses mean, and how its reports are verified', () => {
    const text = page('reference/carriers.md');
    const rows = (heading: string): string =>
      new RegExp(`^##+ ${heading}$(.*?)^##`, 'ms').exec(`${text}\n## `)?.[1] ?? '';
    const responses = rows('Over HTTP') + rows('Over SMTP');
    for (const { title, reports } of CARRIERS) {
      expect(responses).to.include(title === 'SMTP server' ? '| Reply,' : `\n| ${title} |`);
      if (reports)
        expect(rows('Reports'), title).to.match(new RegExp(`^\\| [^|]*\\b${title}\\b[^|]* \\|`, 'm'));
    }
  });
});

import { readFileSync } from 'node:fs';
import { compileTemplate } from 'rowpost-jinja2';
import { expect } from 'chai';
import { DEFAULT_LIMITS } from '../../packages/jinja2/src/limits.js';

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8');

describe('docs/reference/templates.md', () => {
  const page = read('docs/reference/templates.md');
  /** As emails have it: `total` is a numeric column. */
  const data = /^```json data\n(.*?)^```$/ms
    .exec(page)![1]!
    .replace('1234.50', '1234.50E0')
    .replace('{', '{ "now": "2026-11-23T09:30:00Z",');
  const examples = [/^\| `(\{.*?)` \| (?:`(.*)` )?\|$/gm, /`(\{\{[^`]*\}\})` is `([^`]*)`/g].map((form) =>
    [...page.matchAll(form)].map(
      ([, template = '', output = '']) => [template.replaceAll('\\|', '|'), output] as const,
    ),
  );

  it('shows examples', () => {
    expect(examples[0]).to.have.length.above(10);
    expect(examples[1]).to.have.length.above(4);
  });

  for (const [template, output] of examples.flat()) {
    it(`${template} prints what the page shows`, () => {
      expect(compileTemplate(template, { mode: 'html' }).renderJson(data)).to.equal(output);
    });
  }

  it('has the limits of a render', () => {
    const [, section = ''] = page.split('## Limits');
    const documented = [...section.matchAll(/^\| ([\d,]+) \|/gm)].map(([, n = '']) =>
      Number(n.replaceAll(',', '')),
    );
    expect(documented).to.deep.equal(Object.values(DEFAULT_LIMITS));
  });
});

describe('packages/jinja2/README.md', () => {
  const readme = read('packages/jinja2/README.md');

  for (const [file, text] of [
    ['corpus', '`test/corpus.jsonl` has N cases'],
    ['layouts', '`test/layouts.jsonl` has N cases'],
    ['hostile', '`test/hostile.jsonl`: N hostile templates'],
  ] as const) {
    it(`says how many cases ${file}.jsonl has`, () => {
      const cases = read(`packages/jinja2/test/${file}.jsonl`).trim().split('\n').length;
      expect(readme).to.include(text.replace('N', String(cases)));
    });
  }
});

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';

interface LayoutCase {
  readonly id: string;
  readonly html: boolean;
  readonly layouts: Readonly<Record<string, string>>;
  readonly template: string;
  /** Null: rendering must fail. */
  readonly expected: string | null;
}

/** The expected output of each case comes from Jinja2 3.1.6 with a `DictLoader` of its layouts. */
const LINES = readFileSync(path.join(import.meta.dirname, 'layouts.jsonl'), 'utf8')
  .trim()
  .split('\n');

/** The context as it stands in the line: parsing it as JavaScript would lose floats. */
function contextText(line: string): string {
  const text = /"context": (.*), "expected": /s.exec(line)?.[1];
  if (text === undefined) throw new Error(`no context in ${line}`);
  return text;
}

describe('templates: Jinja2 corpus of inheritance, includes and imports', () => {
  for (const line of LINES) {
    const { id, html, layouts, template, expected } = JSON.parse(line) as LayoutCase;
    it(`${id} ${expected === null ? 'as in Jinja2' : 'prints what Jinja2 prints'}`, () => {
      const mode = html ? 'html' : 'text';
      const render = () => compileTemplate(template, { mode, layouts }).renderJson(contextText(line));
      if (expected === null) expect(render).to.throw(TemplateError);
      else expect(render()).to.equal(expected);
    });
  }
});

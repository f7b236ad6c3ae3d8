import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { compileTemplate, TemplateError } from '../src/index.js';

interface CorpusCase {
  readonly id: string;
  readonly area: string;
  readonly template: string;
  /** Null: the template must fail. */
  readonly expected: string | null;
}

/** The expected output of each case comes from Jinja2 3.1 itself. */
const LINES = readFileSync(path.join(import.meta.dirname, 'corpus.jsonl'), 'utf8')
  .trim()
  .split('\n');

/** The context as it stands in the line: parsing it as JavaScript would lose floats and big integers. */
function contextText(line: string): string {
  const text = /"context":(.*),"expected":/s.exec(line)?.[1];
  if (text === undefined) throw new Error(`no context in ${line}`);
  return text;
}

describe('templates: Jinja2 corpus', () => {
  for (const line of LINES) {
    const { id, area, template, expected } = JSON.parse(line) as CorpusCase;
    it(`${id} ${expected === null ? 'fails' : 'prints what Jinja2 prints'}`, () => {
      const mode = area.startsWith('html') ? 'html' : 'text';
      const render = () => compileTemplate(template, { mode }).renderJson(contextText(line));
      if (expected === null) expect(render).to.throw(TemplateError);
      else expect(render()).to.equal(expected);
    });
  }
});

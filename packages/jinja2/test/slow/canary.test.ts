import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import { compileTemplate, TemplateError, type LayoutSources, type Syntax } from '../../src/index.js';
import { findChanges, hasChanged, takeSnapshot } from '../canary.js';

interface CorpusCase {
  readonly id: string;
  readonly template?: string;
  readonly layouts?: LayoutSources;
  readonly syntax?: Syntax;
}

const CORPORA = ['corpus.jsonl', 'layouts.jsonl', 'decimals.jsonl', 'hostile.jsonl'];
/** What a template shares does not depend on how long it runs. */
const LIMITS = { timeMs: 100, steps: 50_000, allocations: 500_000 };

function casesOf(file: string): (readonly [CorpusCase, contextJson: string])[] {
  const lines = readFileSync(path.join(import.meta.dirname, '..', file), 'utf8')
    .trim()
    .split('\n');
  return lines.map((line) => {
    const { context = {}, ...rest } = JSON.parse(line) as CorpusCase & { readonly context?: unknown };
    return [rest, typeof context === 'string' ? context : JSON.stringify(context)];
  });
}

describe('templates: what renders share', () => {
  for (const file of CORPORA) {
    it(`is as it was after each template of ${file}`, function () {
      const snapshot = takeSnapshot();
      let renders = 0;
      for (const [{ id, template, layouts = {}, syntax = 'jinja2' }, contextJson] of casesOf(file)) {
        if (template === undefined) continue;
        try {
          compileTemplate(template, { mode: 'html', syntax, layouts, limits: LIMITS }).renderJson(
            contextJson,
          );
        } catch (error) {
          expect(error, id).to.be.instanceOf(TemplateError);
        }
        renders += 1;
        if (hasChanged(snapshot)) expect(findChanges(snapshot), id).to.deep.equal([]);
      }
      expect(findChanges(snapshot)).to.deep.equal([]);
      expect(renders).to.be.above(100);
    });
  }
});

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript';

const SOURCE = fileURLToPath(new URL('../../../src', import.meta.url));

/** Where statements come from that run in tenants' sessions, whose search_path is that of the tenant's code. */
const OF_TENANTS = ['graphql', 'db/catalog', 'db/files/sweepFiles.ts', 'control/explain', 'control/email'];
/** Of the service's own tables, and of catalogs that it reads in sessions of its own. */
const OF_SERVICE = [
  'control/email/redrive.ts',
  'control/email/suppress.ts',
  'db/catalog/composites.ts',
  'db/catalog/introspect.ts',
  'db/catalog/typeSql.ts',
];

/** What is syntax before a parenthesis, not the name of a function. */
const SYNTAX = new Set(
  (
    'all and any array as case coalesce conflict do else exists from greatest insert into lateral least materialized ' +
    'not of on operator or over returning rows select set then update values when where with'
  ).split(' '),
);
/** Syntax that looks an operator up by its name. */
const LOOKS_UP =
  /\b(?:nullif|between|in|like|ilike|similar|using)\b|\bdistinct from (?!null)|\bcase (?!when\b)/;
/** Where operators get their schema. */
const OPERATORS = 'db/catalog/operators.ts';

/** Names and operators that PostgreSQL would look up in the search_path. `${}` stands for a piece. */
function lookedUp(sql: string): string[] {
  const bare = sql
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/operator\((?:pg_catalog|\$\{\})\.(?:[-+*/<>=~!@#%^&|`?]+|\$\{\})\)/g, ' ');
  const found: string[] = [];
  for (const [, before = '', name = ''] of bare.matchAll(/([.\w"}]?)\b([a-z_][a-z_0-9]*)\s*\(/g)) {
    if (before !== '.' && !SYNTAX.has(name) && !isAlias(bare, name)) found.push(`${name}(`);
  }
  for (const [, type = ''] of bare.matchAll(/::([^\s),:[]+)/g)) {
    if (!/^(?:pg_catalog\.|\$\{\})/.test(type)) found.push(`::${type}`);
  }
  const operators = bare.replaceAll(/\$\{\}|::|\(\*\)|\.\*|\bselect \*/g, ' ');
  for (const [operator] of operators.matchAll(/[-+*/<>=~!@#%^&|`?]+/g)) found.push(operator);
  const syntax = LOOKS_UP.exec(bare);
  if (syntax) found.push(syntax[0]);
  return found;
}

/** `… as r(v text)`, `(…) a(j)`, `with ordinality k(key, n)`: a FROM item and its columns. */
function isAlias(sql: string, name: string): boolean {
  return new RegExp(`(?:\\)|\\}|\\bas|\\bordinality) ${name}\\(`).test(sql);
}

/** In src/db, whole statements are those of the service's sessions. */
const tagsIn = (file: string): readonly string[] =>
  file.startsWith(path.join(SOURCE, 'db')) ? ['sql'] : ['sql', 'statement'];

function* templates(file: string): Generator<{ readonly line: number; readonly sql: string }> {
  const text = readFileSync(file, 'utf8');
  const tags = tagsIn(file);
  if (!/\b(?:sql|statement)`/.test(text)) return;
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const nodes: ts.Node[] = [source];
  for (let node = nodes.pop(); node; node = nodes.pop()) {
    if (ts.isTaggedTemplateExpression(node) && tags.includes(node.tag.getText())) {
      const { template } = node;
      const texts = ts.isNoSubstitutionTemplateLiteral(template)
        ? [template.text]
        : [template.head.text, ...template.templateSpans.map(({ literal }) => literal.text)];
      const { line } = source.getLineAndCharacterOfPosition(node.getStart());
      yield { line: line + 1, sql: texts.join('${}').replaceAll(/\s+/g, ' ').trim() };
    }
    node.forEachChild((child) => void nodes.push(child));
  }
}

function filesIn(place: string): readonly string[] {
  if (place.endsWith('.ts')) return [path.join(SOURCE, place)];
  return readdirSync(path.join(SOURCE, place), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && !OF_SERVICE.includes(path.join(place, name)))
    .map((name) => path.join(SOURCE, place, name));
}

describe("statements in tenants' sessions", () => {
  it('leave no operator, function or type to the search_path', () => {
    const problems: string[] = [];
    let count = 0;
    for (const file of OF_TENANTS.flatMap(filesIn)) {
      for (const { line, sql } of templates(file)) {
        count += 1;
        if (file.endsWith(OPERATORS) && /^[<>=]+$/.test(sql)) continue;
        const names = lookedUp(sql);
        if (names.length > 0)
          problems.push(`${path.relative(SOURCE, file)}:${line}: ${names.join(' ')} in ${sql}`);
      }
    }
    expect(problems).to.deep.equal([]);
    expect(count).to.be.above(300);
  });

  for (const sql of [
    'select a = b',
    "coalesce(to_json(x), '')",
    'x::text',
    'a between 1 and 2',
    'a is distinct from b',
    'nullif(a, b)',
    "a || 'x'",
    '- ${}',
    'case ${} when 1 then 2 end',
  ]) {
    it(`would notice ${sql}`, () => expect(lookedUp(sql)).to.not.be.empty);
  }
});

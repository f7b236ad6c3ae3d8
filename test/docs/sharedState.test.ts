import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import ts from 'typescript';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Files of src are named from there, those of packages from the project's folder. */
const SOURCES = [
  { folder: 'src', prefix: '' },
  { folder: 'packages/jinja2/src', prefix: 'packages/jinja2/src/' },
];

/** What holds something from one call to the next. */
const HOLDERS =
  /^(Map|Set|WeakMap|WeakSet|LRUCache|RateLimiterMemory|Agent|Liquid|Registry|Counter|Histogram|Gauge|\w*(Cache|Semaphore|Pool|Limiter|Queue|Slots|Bytes|Sampler|Limits|Budget|Batcher|Groups|Quota|Client))$/;
const MUTATING = new Set([
  ...[
    'set',
    'add',
    'delete',
    'clear',
    'push',
    'pop',
    'shift',
    'unshift',
    'splice',
    'sort',
    'fill',
    'reverse',
  ],
]);

/** A variable of a module or a field of a class that may change while the process runs. */
function stateOf(file: string): readonly string[] {
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const holds = (node: ts.Expression | undefined): boolean =>
    node !== undefined &&
    ts.isNewExpression(node) &&
    ts.isIdentifier(node.expression) &&
    HOLDERS.test(node.expression.text);
  const mutated = mutatedNames(source);
  for (const statement of source.statements) {
    if (!ts.isVariableStatement(statement)) continue;
    const isConst = (statement.declarationList.flags & ts.NodeFlags.Const) !== 0;
    for (const { name, initializer, type } of statement.declarationList.declarations) {
      const text = name.getText();
      const isReadonly = /^Readonly(Map|Set)\b/.test(type?.getText() ?? '');
      // A set or map with its members, of which nobody calls what changes it, is a constant.
      const isConstant = isReadonly || (isLiteral(initializer) && !mutated.has(text));
      if (!isConst || mutated.has(text) || (holds(initializer) && !isConstant)) found.push(text);
    }
  }
  const visit = (node: ts.Node): void => {
    if (
      ts.isPropertyDeclaration(node) &&
      (holds(node.initializer) || /^LRUCache\b/.test(node.type?.getText() ?? ''))
    ) {
      const owner = node.parent;
      found.push(`${owner.name?.text ?? ''}.${node.name.getText()}`);
    }
    if (
      ts.isNewExpression(node) &&
      /^(LRUCache|RateLimiterMemory|\w*Agent)$/.test(node.expression.getText())
    ) {
      // One that a function keeps in a variable of its own.
      const inClass = ts.findAncestor(
        node,
        (one) => ts.isPropertyDeclaration(one) || ts.isConstructorDeclaration(one),
      );
      const inModule = !ts.findAncestor(node, (one) => ts.isFunctionLike(one));
      if (!inClass && !inModule) found.push(node.expression.getText());
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

function isLiteral(node: ts.Expression | undefined): boolean {
  return (
    node !== undefined &&
    ts.isNewExpression(node) &&
    ts.isIdentifier(node.expression) &&
    /^(Map|Set)$/.test(node.expression.text) &&
    (node.arguments?.length ?? 0) > 0
  );
}

/** Names on which a method that changes them is called, or of which a member is assigned. */
function mutatedNames(source: ts.SourceFile): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && ts.isPropertyAccessExpression(node.expression)) {
      const { expression, name } = node.expression;
      if (ts.isIdentifier(expression) && MUTATING.has(name.text)) names.add(expression.text);
    }
    if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) {
      let target = node.left;
      while (ts.isPropertyAccessExpression(target) || ts.isElementAccessExpression(target))
        target = target.expression;
      if (ts.isIdentifier(target) && target !== node.left) names.add(target.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

/** By file, what the process holds there. */
const held = new Map(
  SOURCES.flatMap(({ folder, prefix }) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => [`${prefix}${file}`, stateOf(path.join(ROOT, folder, file))] as const)
      .filter(([, names]) => names.length > 0),
  ),
);

describe('docs/reference/isolation.md, "What a process shares among tenants"', () => {
  const [, section = ''] =
    /^## What a process shares among tenants$([\s\S]*?)^## /m.exec(
      readFileSync(path.join(ROOT, 'docs/reference/isolation.md'), 'utf8'),
    ) ?? [];
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| ') && !line.startsWith('| ---') && !line.startsWith('| What |'))
    .map((line) =>
      line
        .split('|')
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
  const listed = rows.flatMap(([, where = '']) =>
    [...where.matchAll(/`([\w./]+\.ts)`/g)].map(([, file = '']) => file),
  );

  it('lists every file of src that holds something from one call to the next', () => {
    const missing = [...held].filter(([file]) => !listed.includes(file));
    expect(missing.map(([file, names]) => `${file}: ${names.join(', ')}`)).to.deep.equal([]);
  });

  it('lists nothing else, and each once', () => {
    expect(listed.filter((file) => !held.has(file))).to.deep.equal([]);
    expect(listed.filter((file, at) => listed.indexOf(file) !== at)).to.deep.equal([]);
  });

  it('names for each line who writes it, its guard, and tests that exist', () => {
    expect(rows.length).to.be.above(10);
    for (const [what = '', , writer = '', guard = '', proof = ''] of rows) {
      expect(writer, what).not.to.equal('');
      expect(guard, what).not.to.equal('');
      const named = [...proof.matchAll(/`([\w./]+)`/g)].map(([, name = '']) =>
        name.startsWith('packages/') ? name : `test/${name}.test.ts`,
      );
      expect(named, what).not.to.deep.equal([]);
      for (const file of named) {
        const places = [file, file.replace(/^test\//, 'test/slow/')];
        expect(
          places.some((place) => existsSync(path.join(ROOT, place))),
          file,
        ).to.equal(true);
      }
    }
  });
});

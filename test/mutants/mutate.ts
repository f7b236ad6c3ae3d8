import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import ts from 'typescript';
import type { Mutant } from './mutants.js';

const FOLDERS = ['src', 'packages', 'migrations'];

/** The project's TypeScript and SQL, by path. */
export type Sources = ReadonlyMap<string, string>;

interface Range {
  readonly start: number;
  readonly end: number;
}

export function readSources(project: string): Sources {
  const files = FOLDERS.filter((folder) => existsSync(path.join(project, folder))).flatMap((folder) =>
    readdirSync(path.join(project, folder), { recursive: true, encoding: 'utf8' }).map((name) =>
      path.posix.join(folder, name.split(path.sep).join('/')),
    ),
  );
  const wanted = files.filter((file) => /\.(ts|sql)$/.test(file) && !/\/(node_modules|dist)\//.test(file));
  return new Map(wanted.map((file) => [file, readFileSync(path.join(project, file), 'utf8')]));
}

/** The changed file. Throws if the mutant's place or its pattern is not found exactly once. */
export function mutate(
  { within, pattern, replacement }: Mutant,
  sources: Sources,
): { readonly file: string; readonly text: string } {
  const isStatement = within.includes(' ');
  const places = [...sources].flatMap(([file, text]) =>
    (isStatement ? statementsOf(file, text, within) : declarationsOf(file, text, within)).map((ranges) => ({
      file,
      text,
      ranges,
    })),
  );
  const [place] = places;
  if (!place || places.length > 1) throw new Error(`${within} is declared ${places.length} times`);
  const { file, text, ranges } = place;
  const spaced = new RegExp(pattern.source.replaceAll(' ', '\\s+'), 'g');
  const hits = ranges.flatMap((range) =>
    [...text.slice(range.start, range.end).matchAll(spaced)].map(() => range),
  );
  const [hit] = hits;
  if (!hit || hits.length > 1) throw new Error(`${within} in ${file} has ${hits.length} times ${pattern}`);
  const changed = text.slice(hit.start, hit.end).replace(spaced, replacement);
  return { file, text: text.slice(0, hit.start) + changed + text.slice(hit.end) };
}

/** The SQL statements that begin like this. */
function statementsOf(file: string, text: string, beginning: string): readonly (readonly Range[])[] {
  if (!file.endsWith('.sql')) return [];
  return [...text.matchAll(new RegExp(`\\b${beginning.replaceAll(' ', '\\s+')}\\b`, 'g'))].map(
    ({ index }) => [{ start: index, end: text.indexOf(';', index) + 1 }],
  );
}

/** The exported declaration, or its class's member, with the file's own declarations that it uses. */
function declarationsOf(file: string, text: string, within: string): readonly (readonly Range[])[] {
  const [name = '', member] = within.split('.');
  if (!file.endsWith('.ts') || !text.includes(name)) return [];
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const named = source.statements.flatMap((statement) =>
    namesOf(statement).map((own) => ({ own, statement, isExported: isExported(statement) })),
  );
  const exported = named.find(({ own, isExported }) => isExported && own === name)?.statement;
  if (!exported) return [];
  const start =
    member === undefined
      ? exported
      : ts.isClassDeclaration(exported) &&
        exported.members.find((item) => item.name?.getText(source) === member);
  if (!start) return [];
  const found = new Set<ts.Node>([start]);
  // A set also visits what is added meanwhile.
  for (const node of found) {
    const used = identifiersOf(node);
    for (const { own, statement, isExported } of named)
      if (!isExported && used.has(own)) found.add(statement);
  }
  return [[...found].map((node) => ({ start: node.getStart(source), end: node.end }))];
}

function namesOf(statement: ts.Statement): readonly string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) =>
      ts.isIdentifier(name) ? [name.text] : [],
    );
  const isNamed = ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement);
  return isNamed && statement.name ? [statement.name.text] : [];
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

function identifiersOf(node: ts.Node): ReadonlySet<string> {
  const names = new Set<string>();
  const visit = (inner: ts.Node): void => {
    if (ts.isIdentifier(inner)) names.add(inner.text);
    ts.forEachChild(inner, visit);
  };
  visit(node);
  return names;
}

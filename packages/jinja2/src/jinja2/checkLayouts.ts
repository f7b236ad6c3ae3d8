import { suggestion } from '../suggestion.js';
import { blame, type Fault } from '../errors.js';
import { isText, textOf } from '../values/value.js';
import type { FromImport, Statement } from './ast.js';
import type { NamedLayouts } from './layoutNames.js';
import type { Program } from './runtime.js';
import { syntaxFault } from './syntaxFault.js';
import { allStatements, findBlocks, targetNames } from './walk.js';

/** One of several templates that were compiled together. */
export interface Linked {
  readonly program: Program;
  readonly statements: readonly Statement[];
  readonly named: NamedLayouts;
}

type LinkedByName = ReadonlyMap<string, Linked>;

/**
 * @param names of all layouts, for a hint
 * @throws Fault if a required layout is missing, lacks a name imported from it, or extends itself
 */
export function checkLoads(template: Linked, layouts: LinkedByName, names: readonly string[]): void {
  for (const { name, offset, isRequired } of template.named.names) {
    if (isRequired && !layouts.has(name))
      throw faultOf(template, `no layout named '${name}'`, offset, suggestion(name, names));
  }
  for (const node of allStatements(template.statements)) {
    if (node.kind === 'fromImport') checkImport(template, node, layouts);
  }
  const seen = new Set<Linked>([template]);
  for (let next = parentOf(template, layouts); next; next = parentOf(next, layouts)) {
    if (next === template) {
      const { offset = 0 } = template.named.names.find(({ isParent }) => isParent) ?? {};
      throw faultOf(template, `the layout '${next.program.origin.name ?? ''}' extends itself`, offset);
    }
    // A cycle among layouts further up is reported for those layouts.
    if (seen.has(next)) return;
    seen.add(next);
  }
}

/** Throws a Fault if neither the template nor a layout in between fills a required block. */
export function checkBlocks(template: Linked, layouts: LinkedByName): void {
  const line = extendsChain(template, layouts);
  if (!line) return;
  const defined = new Set<string>();
  for (const linked of line) {
    for (const block of findBlocks(linked.statements)) {
      if (!block.required) defined.add(block.name);
      else if (!defined.has(block.name)) {
        const { offset = block.offset } = template.named.names.find(({ isParent }) => isParent) ?? {};
        throw faultOf(template, `Required block '${block.name}' not found`, offset);
      }
    }
  }
}

function checkImport(template: Linked, { layout, names, offset }: FromImport, layouts: LinkedByName): void {
  if (layout.kind !== 'constant' || !isText(layout.value)) return;
  const name = textOf(layout.value);
  const imported = layouts.get(name);
  const line = imported && extendsChain(imported, layouts);
  if (!line) return;
  const exported = new Set(line.flatMap(({ statements }) => [...topLevelNames(statements)]));
  const absent = names.find((wanted) => !exported.has(wanted.name));
  if (absent)
    throw faultOf(
      template,
      `the layout '${name}' does not export the requested name '${absent.name}'`,
      offset,
    );
}

/** A template and the layouts it extends; undefined if that depends on data. */
function extendsChain(template: Linked, layouts: LinkedByName): readonly Linked[] | undefined {
  const line: Linked[] = [];
  for (let next: Linked | undefined = template; next; next = parentOf(next, layouts)) {
    if (line.includes(next)) return undefined;
    line.push(next);
    const extended = Array.from(allStatements(next.statements)).filter(({ kind }) => kind === 'extends');
    const isSure = next.named.names.some(({ isParent }) => isParent);
    if (extended.length > (isSure ? 1 : 0)) return undefined;
  }
  return line;
}

function parentOf({ named }: Linked, layouts: LinkedByName): Linked | undefined {
  const parent = named.names.find(({ isParent }) => isParent);
  return parent && layouts.get(parent.name);
}

/** The names that the statements assign at the template's top level, including branches. */
function* topLevelNames(statements: readonly Statement[]): Generator<string> {
  for (const node of statements) {
    if (node.kind === 'macro') yield node.name;
    else if (node.kind === 'set' || node.kind === 'setBlock') yield* targetNames(node.target);
    else if (node.kind === 'if') {
      for (const { body } of [node, ...node.elifs, { body: node.otherwise }]) yield* topLevelNames(body);
    }
  }
}

function faultOf({ program }: Linked, message: string, offset: number, hint?: string): Fault {
  return blame(syntaxFault(message, offset, hint), program.origin) as Fault;
}

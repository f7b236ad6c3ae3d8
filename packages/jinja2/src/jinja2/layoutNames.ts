import { isText, textOf } from '../values/value.js';
import type { Expression, LoadStatement, Statement } from './ast.js';
import { allStatements } from './walk.js';

/** The layouts that a template names. */
export interface NamedLayouts {
  readonly names: readonly LayoutName[];
  /** Whether a name is only known when rendering, so that it may be any layout. */
  readonly isAny: boolean;
}

export interface LayoutName {
  readonly name: string;
  readonly offset: number;
  /** Whether rendering fails without it: it is the only name, without `ignore missing`. */
  readonly isRequired: boolean;
  /** Whether the template extends it regardless of data. */
  readonly isParent: boolean;
}

export function namedLayouts(statements: readonly Statement[]): NamedLayouts {
  const names: LayoutName[] = [];
  let isAny = false;
  for (const node of allStatements(statements)) {
    if (!isLoad(node)) continue;
    const constants = constantNames(node.layout);
    const ignored = node.kind === 'include' && node.ignoreMissing;
    if (constants === undefined) isAny = true;
    for (const name of constants ?? []) {
      const isSingle = node.layout.kind === 'constant';
      const isParent = node.kind === 'extends' && isSingle && statements.includes(node);
      names.push({ name, offset: node.offset, isRequired: isSingle && !ignored, isParent });
    }
  }
  return { names, isAny };
}

function isLoad(node: Statement): node is LoadStatement {
  return 'layout' in node;
}

/** Undefined if they depend on the context. */
function constantNames(node: Expression): readonly string[] | undefined {
  switch (node.kind) {
    case 'constant':
      return isText(node.value) ? [textOf(node.value)] : [];
    case 'list':
    case 'tuple': {
      const items = node.items.map(constantNames);
      return items.includes(undefined) ? undefined : items.flatMap((names) => names ?? []);
    }
    case 'conditional': {
      const names = [node.then, node.otherwise].map((branch) => (branch ? constantNames(branch) : []));
      return names.includes(undefined) ? undefined : names.flatMap((some) => some ?? []);
    }
    default:
      return undefined;
  }
}

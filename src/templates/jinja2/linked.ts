import type { Statement } from './ast.js';
import type { NamedLayouts } from './layoutNames.js';
import type { JinjaNode } from './nodes/node.js';
import type { Program } from './runtime.js';

/** One of several templates that were compiled together. */
export interface Linked {
  readonly program: Program<JinjaNode>;
  readonly statements: readonly Statement[];
  readonly named: NamedLayouts;
}

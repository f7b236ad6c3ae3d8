import type { Statement } from './ast.js';
import type { NamedLayouts } from './layoutNames.js';
import type { JinjaNode } from './nodes/node.js';
import type { Program } from './runtime.js';

/** A template of several that were compiled together. */
export interface Linked {
  readonly program: Program<JinjaNode>;
  readonly statements: readonly Statement[];
  readonly named: NamedLayouts;
}

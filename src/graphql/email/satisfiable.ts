import { ownValue } from '../../foundation/ownValue.js';
import { errorAt } from '../filter/syntax/errors.js';
import { nullRejectedPaths } from '../filter/conditions/nullRejection.js';
import { parseFilter } from '../filter/syntax/parser.js';
import { withNullTest } from '../filter/syntax/rewrite.js';
import type { FilterNode, PrincipalNode } from '../filter/syntax/tree.js';
import { partsOf } from '../filter/syntax/walk.js';

/** The record that an operation's events lack: all its columns are null. */
const ABSENT: Readonly<Record<string, 'old' | 'new'>> = { insert: 'old', delete: 'new' };

/**
 * Rejects a condition that can't hold for any of the rule's operations; otherwise the mistake would only be noticed when
 * emails are missing. Throws AppError FILTER_TYPE.
 */
export function requireSatisfiable(condition: string, operations: readonly string[]): void {
  const { tree } = parseFilter(condition);
  const principal = findPrincipal(tree);
  if (principal) {
    const hint = 'Events have no caller. Compare columns of new and old.';
    throw errorAt('FILTER_TYPE', '$_PRINCIPAL is always null in a condition', principal.at, hint);
  }
  if (operations.length === 0) return;
  const absent = operations.map((operation) => ownValue(ABSENT, operation));
  if (!absent.every((record) => record !== undefined && neverHolds(tree, record))) return;
  const reasons = operations.map(
    (operation) => `for ${operation} there is no ${ownValue(ABSENT, operation) ?? ''}`,
  );
  const hint = 'Leave the comparison out, or choose operations that have the record.';
  throw errorAt('FILTER_TYPE', `The condition never holds: ${reasons.join(', ')} record`, tree.at, hint);
}

function findPrincipal(node: FilterNode): PrincipalNode | undefined {
  if (node.kind === 'principal') return node;
  for (const part of partsOf(node)) {
    const found = findPrincipal(part);
    if (found) return found;
  }
  return undefined;
}

function neverHolds(given: FilterNode, absent: 'old' | 'new'): boolean {
  switch (given.kind) {
    case 'and':
      return given.items.some((item) => neverHolds(item, absent));
    case 'or':
      return given.items.every((item) => neverHolds(item, absent));
    case 'not': {
      const operand = withNullTest(given.operand);
      // A comparison with null is null, and so is its negation; a null test is not.
      return ['compare', 'like'].includes(operand.kind) && rejects(operand, absent);
    }
    default:
      return rejects(withNullTest(given), absent);
  }
}

function rejects(node: FilterNode, absent: 'old' | 'new'): boolean {
  return nullRejectedPaths(node).some(({ names }) => names[0] === absent);
}

import { Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql';
import { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';

/** Mutations of `Utility` that change nothing here and call somebody outside. */
const OUTWARD: ReadonlySet<string> = new Set(['send_test_email']);

/**
 * Whether a document's only mutation is one that can't be rolled back. It runs outside a transaction: the provider may
 * take its time, and the connection that would be held meanwhile is one of few.
 */
export function standsAlone(operation: OperationDefinitionNode): boolean {
  const utility = onlyField(operation.selectionSet);
  const mutation = utility?.name.value === 'Utility' ? onlyField(utility.selectionSet) : undefined;
  return mutation !== undefined && OUTWARD.has(mutation.name.value);
}

/** Throws AppError BAD_USER_INPUT for a mutation that must be alone in its request and is not. */
export function requireStandsAlone({ isTransaction }: ControlContext, mutation: string): void {
  if (isTransaction) {
    throw new AppError('BAD_USER_INPUT', `${mutation} must be the only mutation of its request.`, {
      hint: 'Send it in a request of its own, without fragments: what it does can not be rolled back.',
    });
  }
}

function onlyField(set: SelectionSetNode | undefined) {
  const [only, ...others] = (set?.selections ?? []).filter(
    (selection) => selection.kind !== Kind.FIELD || selection.name.value !== '__typename',
  );
  return only?.kind === Kind.FIELD && others.length === 0 ? only : undefined;
}

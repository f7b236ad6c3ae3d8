import { Kind, type OperationDefinitionNode, type SelectionSetNode } from 'graphql';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';

/** Mutations of `Utility` that call an external service before they change anything here, or change tables one by one. */
const EXTERNAL_CALLS: ReadonlySet<string> = new Set([
  'send_test_email',
  'set_email_transport',
  'set_captures',
]);

/**
 * Whether the document's only mutation is one of these, which can't be rolled back. It runs outside a transaction: the
 * provider may be slow, and a transaction would occupy a connection, or keep all the tables locked.
 */
export function isExternalCall(operation: OperationDefinitionNode): boolean {
  const utility = onlyField(operation.selectionSet);
  const mutation = utility?.name.value === 'Utility' ? onlyField(utility.selectionSet) : undefined;
  return mutation !== undefined && EXTERNAL_CALLS.has(mutation.name.value);
}

/** Throws AppError BAD_USER_INPUT unless the mutation is the only one of its request. */
export function requireOnlyMutation({ isTransaction }: ControlContext, mutation: string): void {
  if (isTransaction) {
    throw new AppError('BAD_USER_INPUT', `${mutation} must be the only mutation of its request.`, {
      hint: "Send it in a request of its own, without fragments: it can't be rolled back.",
    });
  }
}

function onlyField(set: SelectionSetNode | undefined) {
  const [only, ...others] = (set?.selections ?? []).filter(
    (selection) => selection.kind !== Kind.FIELD || selection.name.value !== '__typename',
  );
  return only?.kind === Kind.FIELD && others.length === 0 ? only : undefined;
}

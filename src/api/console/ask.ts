import type { ControlEngine } from '../../control/controlEngine.js';
import type { Principal } from '../../db/principal.js';
import { AppError, ERROR_CODES, type ErrorCode, type ErrorDetails } from '../../errors.js';
import { parseJson } from '../../losslessJson.js';

/** Executes a document at `/roles_pbac` as the session's role. Throws the first error of the response as an AppError. */
export type AskControl = <Data>(
  document: string,
  variables?: Readonly<Record<string, unknown>>,
) => Promise<Data>;

type Extensions = ErrorDetails & { readonly code?: string; readonly hint?: string };

interface Answer {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: Extensions;
  }[];
}

/** The console's only access to data: it sees and does exactly what GraphQL permits the role. */
export function askControlAs(
  control: ControlEngine,
  principal: Principal,
  { allowMutation }: { readonly allowMutation: boolean },
): AskControl {
  return async <Data>(query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const { body, release } = await control.execute(principal, { query, variables }, { allowMutation });
    // Pages are small and rendered from the response immediately.
    release?.();
    const { data, errors } = parseJson(body) as Answer;
    const [error] = errors ?? [];
    if (error) throw toAppError(error.message, error.extensions);
    return data as Data;
  };
}

function toAppError(message: string, { code, hint, ...details }: Extensions = {}): AppError {
  const known =
    code !== undefined && Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'INTERNAL_ERROR';
  return new AppError(known, message, { details, ...(hint === undefined ? {} : { hint }) });
}

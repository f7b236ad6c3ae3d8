import type { Principal } from '../../db/roles/principal.js';
import { AppError, ERROR_CODES, type ErrorCode, type ErrorDetails } from '../../foundation/errors.js';
import type { Allowance } from '../../graphql/allowance.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import type { OidcSetUp } from '../../control/oidc/oidcSetUp.js';
import { QUICK_BYTES, type InTurn } from '../http/readFields.js';
import type { ControlEngine } from '../../control/controlEngine.js';

/** Executes a document as the session's role. Throws the first error of the response as an AppError. */
export type Query = <Data>(document: string, variables?: Readonly<Record<string, unknown>>) => Promise<Data>;

type Extensions = ErrorDetails & { readonly code?: string; readonly hint?: string };

interface Response {
  readonly data?: unknown;
  readonly errors?: readonly {
    readonly message: string;
    readonly extensions?: Extensions;
  }[];
}

export interface GraphqlClientOptions {
  readonly allowMutation: boolean;
  /** Parses long responses. */
  readonly inTurn: InTurn;
  readonly allowance?: Allowance | undefined;
  /** When the session began. */
  readonly authTimeMs?: number;
  readonly sessionid?: string | undefined;
  readonly oidcSetUp?: OidcSetUp;
  /** A longer response is not parsed, because other requests would wait meanwhile: it is an error. */
  readonly maxCharacters?: number;
}

/** The console's only access to data: it sees and does exactly what GraphQL permits the role. */
export function createGraphqlClient(
  executor: Pick<ControlEngine, 'execute'>,
  principal: Principal,
  { maxCharacters = Infinity, inTurn, ...options }: GraphqlClientOptions,
): Query {
  return async <Data>(query: string, variables: Readonly<Record<string, unknown>> = {}) => {
    const { body, release } = await executor.execute(principal, { query, variables }, options);
    // Pages are small and rendered from the response immediately.
    release?.();
    if (body.length > maxCharacters) {
      throw new AppError('DOCUMENT_TOO_COMPLEX', 'These rows are too large to show here.', {
        hint: 'Choose fewer with a filter, or read them with GraphQL.',
      });
    }
    const parse = (): Response => parseJson(body) as Response;
    const { data, errors } = body.length > QUICK_BYTES ? await inTurn(parse) : parse();
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

import { AppError, ERROR_CODES, type ErrorCode } from '../../foundation/errors.js';

export type OidcErrorCode = Extract<ErrorCode, `OIDC_${string}`>;

/**
 * A failed sign-in. The HTTP response has no field for a hint, so the message includes the likely cause. Discloses nothing
 * about the provider or the mapping, since the caller is unauthenticated. Has no `cause`, because the library's errors
 * contain tokens.
 */
export function oidcFailure(
  code: OidcErrorCode,
  what: string,
  hint: string = ERROR_CODES[code][1],
): AppError {
  return new AppError(code, `${what} ${hint}`, { hint });
}

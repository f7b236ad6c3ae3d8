import { AppError, ERROR_CODES, type ErrorCode } from '../../errors.js';

export type OidcErrorCode = Extract<ErrorCode, `OIDC_${string}`>;

/**
 * A sign-in that failed. What is answered over HTTP has no field for a hint, so the likely cause is part of the text.
 * Neither says what the provider or the mapping holds: a stranger may be asking. No cause is kept: the library's errors
 * carry tokens.
 */
export function oidcFailure(
  code: OidcErrorCode,
  what: string,
  hint: string = ERROR_CODES[code][1],
): AppError {
  return new AppError(code, `${what} ${hint}`, { hint });
}

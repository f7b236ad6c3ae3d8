/** A caller's rate limits. HTTP implements them: the client's address is not known here. */
export interface Allowance {
  /** Counts rows, roles or changes of logins before they are written. Throws AppError RATE_LIMITED. */
  spend(what: 'rows' | 'roles' | 'logins', count: number): Promise<void>;
}

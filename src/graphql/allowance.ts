/** A caller's rate limits. HTTP implements them: the client's address is not known here. */
export interface Allowance {
  /** Counts rows or roles before they are written. Throws AppError RATE_LIMITED. */
  spend(what: 'rows' | 'roles', count: number): Promise<void>;
}

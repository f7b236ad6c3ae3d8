/** What a caller may do only so often, as HTTP knows it: who asks from where is not known here. */
export interface Allowance {
  /** Counts rows that are written, or roles that are made, before they are. Throws AppError RATE_LIMITED. */
  spend(what: 'rows' | 'roles', count: number): Promise<void>;
}

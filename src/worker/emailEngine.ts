import type { Principal } from '../db/principal.js';

/** What a worker needs of the data engine. */
export interface EmailEngine {
  /** Read only, under the principal's rules. @returns JSON text. Throws AppError for what the query or its author did. */
  runEmailQuery(
    principal: Principal,
    query: {
      query: string;
      filter?: string;
      ordering?: readonly string[];
      limit?: number;
      offset?: number;
    },
  ): Promise<string>;
  /** For each event whether the condition holds. Throws AppError when it doesn't fit the table (any more). */
  evaluateCondition(
    tenantid: number,
    schema: string,
    target: string,
    condition: string,
    events: readonly { old: string | null; new: string | null }[],
  ): Promise<boolean[]>;
}

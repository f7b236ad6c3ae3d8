import type { PoolClient } from 'pg';

/** A statement's text with its own count of runs. Plans hold these; equal text in two plans is two statements. */
export interface PreparedText {
  readonly text: string;
  /** Runs so far in this process. */
  runs: number;
  /** Given when the statement turns hot. */
  name?: string;
}

/** Runs after which a statement is worth keeping parsed and planned: +50 % on point reads. */
const HOT_AFTER_RUNS = 5;
/** A kept plan takes about 100 KiB of the connection's backend. */
const MOST_PER_CONNECTION = 100;

export function preparedText(text: string): PreparedText {
  return { text, runs: 0 };
}

/** Which named statements each connection holds; the least recently used goes when a connection has its fill. */
export class PreparedStatements {
  readonly #held = new WeakMap<PoolClient, Map<string, true>>();
  #lastName = 0;

  /** @returns the name to send the statement under, or undefined while it is not hot; and the name to drop first. */
  use(client: PoolClient, statement: PreparedText): { name?: string; drop?: string } {
    if (statement.name === undefined) {
      statement.runs += 1;
      if (statement.runs < HOT_AFTER_RUNS) return {};
      this.#lastName += 1;
      statement.name = `p${this.#lastName}`;
    }
    const name = statement.name;
    let held = this.#held.get(client);
    if (!held) this.#held.set(client, (held = new Map<string, true>()));
    const known = held.delete(name);
    held.set(name, true);
    if (known || held.size <= MOST_PER_CONNECTION) return { name };
    const [oldest] = held.keys();
    if (oldest === undefined) return { name };
    held.delete(oldest);
    return { name, drop: oldest };
  }
}

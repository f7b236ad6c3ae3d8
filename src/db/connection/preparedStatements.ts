import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';

/** A statement's text with what is known of its runs. Plans hold these; equal text in two plans is two statements. */
export interface PreparedText {
  readonly text: string;
  /** Runs so far in this process. */
  runs: number;
  /** The quickest of its recent runs, network included; undefined before the first. */
  quickestMs?: number;
  /** Known once the statement is hot. */
  name?: string;
}

/** How a statement is sent on one connection. */
export interface PreparedUse {
  /** Empty while the statement is not hot. */
  readonly name: string;
  readonly parse: boolean;
  /** Names that the connection must let go of first. */
  readonly close: readonly string[];
}

/** Runs after which a statement is worth keeping parsed and planned: +50 % on point reads. */
const HOT_AFTER_RUNS = 5;
/** A kept plan takes about 100 KiB of the connection's backend. */
const MAX_PER_CONNECTION = 100;
/** Each run makes the remembered quickest one slower by this factor: what was quick once may have turned slow. */
const QUICKEST_DECAY = 1.001;

/** Characters of 6 bits each. PostgreSQL cuts names off at 63. */
const NAME_LENGTH = 32;

const UNNAMED: PreparedUse = { name: '', parse: true, close: [] };

/** Has what is sent by `client.query` parsed each time, for `PREPARED_STATEMENTS=off`. */
export function dropStatementNames(client: ClientBase): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const unnamed = (config: unknown, ...rest: unknown[]): unknown => {
    if (typeof config !== 'object' || config === null || 'submit' in config) return send(config, ...rest);
    return send({ ...config, name: undefined }, ...rest);
  };
  client.query = unnamed as typeof client.query;
}

export function preparedText(text: string): PreparedText {
  return { text, runs: 0 };
}

export function isHot(statement: PreparedText): boolean {
  return statement.runs >= HOT_AFTER_RUNS;
}

/**
 * Nobody else's: behind a connection pooler processes share sessions, and a name that counts would run whatever another
 * process has given that number.
 */
export function statementName(text: string): string {
  return `rowpost_${createHash('sha256').update(text).digest('base64url').slice(0, NAME_LENGTH)}`;
}

/** The quickest run says what the statement costs; the others also what the machine was doing meanwhile. */
export function noteRun(statement: PreparedText, ms: number): void {
  statement.quickestMs = Math.min(ms, (statement.quickestMs ?? Infinity) * QUICKEST_DECAY);
}

/** Which named statements each connection holds; the least recently used goes when a connection has its fill. */
export class PreparedStatements {
  /** By name: whether the connection surely holds it. */
  readonly #held = new WeakMap<ClientBase, Map<string, boolean>>();

  /** @param isOn `PREPARED_STATEMENTS` */
  constructor(private readonly isOn: boolean) {}

  /** Counts as a run. What is to be parsed is held once it is confirmed, and parsed again until then. */
  use(client: ClientBase, statement: PreparedText): PreparedUse {
    if (!isHot(statement)) statement.runs += 1;
    if (!this.isOn || !isHot(statement)) return UNNAMED;
    const name = (statement.name ??= statementName(statement.text));
    let held = this.#held.get(client);
    if (!held) this.#held.set(client, (held = new Map<string, boolean>()));
    const state = held.get(name) ?? false;
    held.delete(name);
    held.set(name, state);
    if (state) return { name, parse: false, close: [] };
    // It may be there after all, where an error came between. Closing a name that is not there is no error.
    return { name, parse: true, close: [name, ...dropOldest(held)] };
  }

  /** The statements that were parsed with these names ran. */
  confirm(client: ClientBase, names: readonly string[]): void {
    const held = this.#held.get(client);
    for (const name of names) if (held?.has(name)) held.set(name, true);
  }
}

function dropOldest(held: Map<string, boolean>): readonly string[] {
  const [oldest] = held.keys();
  if (held.size <= MAX_PER_CONNECTION || oldest === undefined) return [];
  held.delete(oldest);
  return [oldest];
}

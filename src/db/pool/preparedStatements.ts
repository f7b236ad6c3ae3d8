import { createHash } from 'node:crypto';
import type { ClientBase } from 'pg';
import { fixed, type Fixed, type SqlText } from '../sql/sql.js';

/** A statement's text with statistics of its runs. Each plan has its own, even if another has the same text. */
export interface PreparedText {
  readonly text: SqlText;
  /** Runs so far in this process. */
  runs: number;
  /** The fastest of its recent runs, including the network; undefined before the first. */
  quickestMs?: number;
  /** Set once the statement is hot. */
  name?: string;
}

/** How to send a statement on one connection. */
export interface PreparedUse {
  /** Empty while the statement is not hot. */
  readonly name: string;
  readonly parse: boolean;
  /** Prepared statements that the connection must close first. */
  readonly close: readonly string[];
}

/** Runs after which preparing a statement pays off: +50 % throughput on point reads. */
const HOT_AFTER_RUNS = 5;
/** A cached plan takes about 100 KiB in the connection's backend. */
const MAX_PER_CONNECTION = 100;
/** Each run ages the fastest time by this factor: a statement that was once fast may have become slow. */
const QUICKEST_DECAY = 1.001;

/** Characters of 6 bits each. PostgreSQL truncates names at 63. */
const NAME_LENGTH = 32;

const UNNAMED: PreparedUse = { name: '', parse: true, close: [] };

/** Makes `client.query` ignore statement names, for `PREPARED_STATEMENTS=off`. */
export function dropStatementNames(client: ClientBase): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const unnamed = (config: unknown, ...rest: unknown[]): unknown => {
    if (typeof config !== 'object' || config === null || 'submit' in config) return send(config, ...rest);
    return send({ ...config, name: undefined }, ...rest);
  };
  client.query = unnamed as typeof client.query;
}

export function preparedText<const T extends string>(text: T & Fixed<T>): PreparedText {
  return { text: fixed<T>(text), runs: 0 };
}

export function isHot(statement: PreparedText): boolean {
  return statement.runs >= HOT_AFTER_RUNS;
}

/**
 * A hash of the text. Processes share sessions behind a connection pooler, where a sequence number might name another
 * process's statement.
 */
export function statementName(text: string): string {
  return `rowpost_${createHash('sha256').update(text).digest('base64url').slice(0, NAME_LENGTH)}`;
}

/** Keeps the fastest run: slower ones also measure what else the machine was doing. */
export function noteRun(statement: PreparedText, ms: number): void {
  statement.quickestMs = Math.min(ms, (statement.quickestMs ?? Infinity) * QUICKEST_DECAY);
}

/** Tracks the prepared statements of each connection. When one is full, the least recently used is closed. */
export class PreparedStatements {
  /** By name: whether the connection is known to have it. */
  readonly #held = new WeakMap<ClientBase, Map<string, boolean>>();

  /** @param isOn `PREPARED_STATEMENTS` */
  constructor(private readonly isOn: boolean) {}

  /** Counts as a run. A statement is parsed again until `confirm` says that the connection has it. */
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
    // After an error it may exist after all. Closing a name that doesn't exist is no error.
    return { name, parse: true, close: [name, ...dropOldest(held)] };
  }

  /** To be called once statements that were parsed under these names have run. */
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

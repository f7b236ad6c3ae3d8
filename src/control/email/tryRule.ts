import type { Catalog } from '../../db/catalog/catalog.js';
import type { EmailRule } from '../../db/outbox/batches.js';
import { findRecentEvents, loadRecentEvents, type RecentEvent } from '../../db/outbox/recentEvents.js';
import { covers, evaluateCondition, type ConditionResult } from '../../email/evaluateCondition.js';
import { areDisjoint, requirementsOf } from '../../graphql/email/disjoint.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import type { Steps } from '../../graphql/steps.js';
import type { ControlContext } from '../controlContext.js';
import { readRows } from '../derive/rows.js';
import { emailRule } from '../objects/emailRule.js';

/** A rule to try, saved or not. Its tables exist, and its condition compiles for them. */
export interface TriedRule extends Omit<EmailRule, 'ruleid'> {
  /** Undefined for one that is not saved. */
  readonly ruleid: string | undefined;
}

/** Another rule of the tenant that may send for the same changes. */
export interface OtherRule extends EmailRule {
  readonly name: string;
  readonly email_type: string;
}

export interface Trial {
  /** Changes that were compared with the rule. */
  readonly changes: number;
  readonly matched: number;
  /** Changes for which the condition could not be evaluated. */
  readonly failed: number;
  /** Why not, for the first of them. */
  readonly failure: string | null;
  /** The time of the oldest change that was compared. */
  readonly since: string | null;
  /** Whether there are older changes. */
  readonly hasMore: boolean;
  /** Older changes were not searched; null if all were. */
  readonly searchedSince: string | null;
  /** The latest that matched. */
  readonly matches: readonly Pick<RecentEvent, 'eventid' | 'time' | 'operation' | 'target' | 'key'>[];
  /** How many of the matched changes another rule matches as well, by its id. */
  readonly shared: ReadonlyMap<string, number>;
}

const LIMITS = { events: 200, searchMs: 5_000 };
/** For all conditions and all changes together. One statement may exceed it, by as long as it may take in a worker. */
const CONDITIONS_MS = 10_000;
const MAX_MATCHES = 10;
const MAX_OTHERS = 20;

/**
 * Compares a rule with the latest changes to its tables, as a worker would. Read-only. Relations are read in their current state.
 * Throws AppError if the database is busy.
 */
export async function tryRule(
  context: ControlContext,
  schema: string,
  rule: TriedRule,
  others: readonly OtherRule[],
): Promise<Trial> {
  const { principal, deps, connections } = context;
  const { tenantid } = principal;
  const { pool } = deps.database;
  const { found, searchedSince } = await connections.run(tenantid, () =>
    findRecentEvents(pool, { tenantid, ...rule }, LIMITS),
  );
  const wanted = found.slice(0, LIMITS.events);
  const endMs = performance.now() + CONDITIONS_MS;
  const count = new Count(others);
  while (count.changes < wanted.length && (count.changes === 0 || performance.now() < endMs)) {
    const rest = wanted.slice(count.changes);
    const events = await connections.run(tenantid, () => loadRecentEvents(pool, tenantid, rest));
    // Their partition was dropped in the meantime.
    if (events.length === 0) break;
    const results = await evaluate(context, schema, rule.condition, events);
    const matched = events.filter((_event, index) => results[index] === true);
    count.add(events, results, matched);
    for (const other of others) {
      if (performance.now() > endMs) break;
      const alike = matched.filter((event) => covers(other, event));
      count.addShared(other, await evaluate(context, schema, other.condition, alike));
    }
  }
  return {
    ...count.result(),
    hasMore: searchedSince !== null || found.length > count.changes,
    searchedSince: found.length > LIMITS.events ? null : searchedSince,
  };
}

class Count {
  changes = 0;
  #failed = 0;
  #matched = 0;
  #failure: string | null = null;
  #since: string | null = null;
  readonly #matches: Trial['matches'][number][] = [];
  readonly #shared: Map<string, number>;

  constructor(others: readonly OtherRule[]) {
    this.#shared = new Map(others.map(({ ruleid }) => [ruleid, 0]));
  }

  add(
    events: readonly RecentEvent[],
    results: readonly ConditionResult[],
    matched: readonly RecentEvent[],
  ): void {
    const failures = results.filter((result) => typeof result === 'object');
    this.changes += events.length;
    this.#matched += matched.length;
    this.#failed += failures.length;
    this.#failure ??= failures[0]?.message ?? null;
    this.#since = events.at(-1)?.time ?? this.#since;
    // Without their rows, which may be large.
    for (const { eventid, time, operation, target, key } of matched)
      if (this.#matches.length < MAX_MATCHES) this.#matches.push({ eventid, time, operation, target, key });
  }

  addShared({ ruleid }: OtherRule, results: readonly ConditionResult[]): void {
    const matches = results.filter((result) => result === true).length;
    this.#shared.set(ruleid, (this.#shared.get(ruleid) ?? 0) + matches);
  }

  result(): Omit<Trial, 'hasMore' | 'searchedSince'> {
    return {
      changes: this.changes,
      matched: this.#matched,
      failed: this.#failed,
      failure: this.#failure,
      since: this.#since,
      matches: this.#matches,
      shared: this.#shared,
    };
  }
}

/** In the order of the events, which may be of several tables. */
async function evaluate(
  { principal: { tenantid }, deps }: ControlContext,
  schema: string,
  condition: string | null,
  events: readonly RecentEvent[],
): Promise<readonly ConditionResult[]> {
  if (condition === null) return events.map(() => true);
  const results = new Map<RecentEvent, ConditionResult>();
  for (const target of new Set(events.map((event) => event.target))) {
    const ofTable = events.filter((event) => event.target === target);
    const found = await evaluateCondition(deps.engine, { tenantid, schema, target, condition }, ofTable);
    ofTable.forEach((event, index) => results.set(event, found[index] ?? false));
  }
  return events.map((event) => results.get(event) ?? false);
}

/** Enabled rules for the same tables and kinds of change, except those whose condition rules out this one. */
export async function findOtherRules(
  { db, principal, deps }: ControlContext,
  catalog: Catalog,
  rule: TriedRule,
): Promise<readonly OtherRule[]> {
  const all = await readRows(db, emailRule, { tenantid: principal.tenantid });
  const alike = all.filter(
    (other) =>
      other.enabled &&
      String(other.ruleid) !== rule.ruleid &&
      other.operations.some((operation) => rule.operations.includes(operation)),
  );
  return deps.engine.planning.run(planOwnerOf(principal), meeting(rule, alike.map(toOtherRule), catalog));
}

function toOtherRule({
  ruleid,
  ...other
}: Omit<OtherRule, 'ruleid'> & { readonly ruleid: unknown }): OtherRule {
  return { ...other, ruleid: String(ruleid) };
}

/** Each condition is parsed once, and each rule may have all tables. */
function* meeting(
  { targets, condition }: TriedRule,
  others: readonly OtherRule[],
  catalog: Catalog,
): Steps<readonly OtherRule[]> {
  const required = requirementsOf(condition ?? '');
  const tables = new Map(targets.map((target) => [target, catalog.tables.get(target)]));
  const found: OtherRule[] = [];
  for (const other of others) {
    if (found.length === MAX_OTHERS) break;
    yield;
    const requiredByOther = requirementsOf(other.condition ?? '');
    for (const target of other.targets) {
      yield;
      const table = tables.get(target);
      if (!table || areDisjoint(table, required, requiredByOther)) continue;
      found.push(other);
      break;
    }
  }
  return found;
}

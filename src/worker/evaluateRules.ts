import {
  loadBatch,
  loadEventRecords,
  type BatchKey,
  type EmailRule,
  type LoadedBatch,
  type OutboxEvent,
} from '../db/delivery/batches.js';
import { closeBatch, type ClosedBatch, type DeliveryLimits, type Match } from '../db/delivery/closeBatch.js';
import type { Ledger } from '../db/delivery/ledger.js';
import { storable } from '../email/storableText.js';
import { isBusy } from '../email/transientErrors.js';
import { AppError } from '../errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';

export interface EvaluateDeps {
  readonly ledger: Ledger;
  readonly engine: Pick<DataEngine, 'evaluateCondition'>;
  readonly limits: DeliveryLimits;
}

/** Most events whose records are in memory at once, and in one condition's statement. */
const EVENTS_AT_ONCE = 100;

/**
 * A batch of committed events becomes deliveries: one for each event and each rule that matches it now. Done twice, by
 * two workers even, it records each delivery once.
 */
export async function evaluateRules(deps: EvaluateDeps, key: BatchKey): Promise<ClosedBatch> {
  const batch = await loadBatch(deps.ledger, key);
  if (batch?.done === true) return { ready: [], soon: [], trips: [] };
  const matches: Match[] = [];
  // A tenant that is gone sends nothing.
  if (batch) {
    for (const rule of batch.rules) {
      matches.push(...(await matchRule(deps, key, batch, rule)));
    }
  }
  return closeBatch(deps.ledger, key, inOrderOfEvents(matches, batch?.events ?? []), deps.limits);
}

async function matchRule(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  rule: EmailRule,
): Promise<readonly Match[]> {
  const concerned = batch.events.filter(
    (event) => rule.operations.includes(event.operation) && rule.targets.includes(event.target),
  );
  if (rule.condition === null) return concerned.map(({ eventid }) => ({ eventid, ruleid: rule.ruleid }));
  const matches: Match[] = [];
  for (const [target, events] of byTarget(concerned)) {
    for (let start = 0; start < events.length; start += EVENTS_AT_ONCE) {
      const part = events.slice(start, start + EVENTS_AT_ONCE);
      matches.push(
        ...(await matchCondition(deps, key, batch.schema, { ...rule, target }, rule.condition, part)),
      );
    }
  }
  return matches;
}

/** A condition that can't be evaluated any more, because its column is gone say, is said by a failed delivery. */
async function matchCondition(
  deps: EvaluateDeps,
  key: BatchKey,
  schema: string,
  rule: { readonly ruleid: string; readonly target: string },
  condition: string,
  events: readonly OutboxEvent[],
): Promise<readonly Match[]> {
  const eventids = events.map((event) => event.eventid);
  const records = await loadEventRecords(deps.ledger, key, eventids);
  try {
    const holds = await deps.engine.evaluateCondition(key.tenantid, schema, rule.target, condition, records);
    return records
      .filter((_, index) => holds[index] === true)
      .map(({ eventid }) => ({ eventid, ruleid: rule.ruleid }));
  } catch (error) {
    // The database is away, or the tenant's share of it is taken: the batch comes back.
    if (!(error instanceof AppError) || isBusy(error)) throw error;
    // One slow event must not take the others with it.
    if (error.code === 'STATEMENT_TIMEOUT' && events.length > 1) {
      const middle = Math.ceil(events.length / 2);
      return [
        ...(await matchCondition(deps, key, schema, rule, condition, events.slice(0, middle))),
        ...(await matchCondition(deps, key, schema, rule, condition, events.slice(middle))),
      ];
    }
    const failure = { code: 'CONDITION_FAILED', message: storable(`the rule's condition: ${error.message}`) };
    return records.map(({ eventid }) => ({ eventid, ruleid: rule.ruleid, failure }));
  }
}

function byTarget(events: readonly OutboxEvent[]): ReadonlyMap<string, readonly OutboxEvent[]> {
  const groups = new Map<string, OutboxEvent[]>();
  for (const event of events) {
    const group = groups.get(event.target);
    if (group) group.push(event);
    else groups.set(event.target, [event]);
  }
  return groups;
}

/** Deliveries get their ids, and their turns, in the order in which the changes were made. */
function inOrderOfEvents(matches: readonly Match[], events: readonly OutboxEvent[]): readonly Match[] {
  const position = new Map(events.map((event, index) => [event.eventid, index]));
  return [...matches].sort((a, b) => (position.get(a.eventid) ?? 0) - (position.get(b.eventid) ?? 0));
}

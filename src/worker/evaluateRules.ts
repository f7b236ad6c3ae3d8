import {
  loadBatch,
  loadEventRecords,
  type BatchKey,
  type EmailRule,
  type EventRecords,
  type LoadedBatch,
  type OutboxEvent,
} from '../db/delivery/batches.js';
import {
  closeBatch,
  closePlainBatch,
  type ClosedBatch,
  type DeliveryLimits,
  type Match,
} from '../db/delivery/closeBatch.js';
import { countRepeatedBatchStart } from '../db/delivery/poisonBatches.js';
import { RECORD_TOO_LARGE } from '../db/delivery/recordSize.js';
import type { Ledger } from '../db/connection/ledger.js';
import { storable } from '../email/storableText.js';
import { isBusy } from '../email/transientErrors.js';
import { AppError } from '../errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../log.js';

export interface EvaluateDeps {
  readonly ledger: Ledger;
  readonly engine: Pick<DataEngine, 'evaluateCondition'>;
  readonly limits: DeliveryLimits;
  readonly log: Logger;
}

/** Most events whose records are in memory at once, and in one condition's statement. */
const EVENTS_AT_ONCE = 100;

/**
 * A batch of committed events becomes deliveries: one for each event and each rule that matches it now. Done twice, by
 * two workers even, it records each delivery once.
 * @param repeated whether an earlier worker began with the same job and ended without a word
 */
export async function evaluateRules(
  deps: EvaluateDeps,
  key: BatchKey,
  repeated: boolean,
): Promise<ClosedBatch> {
  // Most batches concern no rule with a condition: one statement does all of it.
  const plain = repeated ? undefined : await closePlainBatch(deps.ledger, key, deps.limits);
  if (plain) return plain;
  const batch = await loadBatch(deps.ledger, key);
  if (batch?.done === true) return NOTHING;
  // A tenant that is gone sends nothing.
  if (!batch) return closeBatch(deps.ledger, key, [], deps.limits);
  if (repeated) {
    const fate = await countRepeatedBatchStart(deps.ledger, key, batch.events.length);
    if (fate === 'split') return NOTHING;
    if (fate === 'give-up') return giveUp(deps, key, batch);
  }
  const matches: Match[] = [];
  for (const rule of batch.rules) matches.push(...(await matchRule(deps, key, batch, rule)));
  return closeBatch(deps.ledger, key, inOrderOfEvents(matches, batch.events), deps.limits);
}

const NOTHING: ClosedBatch = { ready: [], soon: [], trips: [] };

/** Each worker that evaluated this batch ended while doing so: every rule that may match says so by a failed delivery. */
function giveUp(deps: EvaluateDeps, key: BatchKey, batch: LoadedBatch): Promise<ClosedBatch> {
  const { tenantid, batchid } = key;
  deps.log.error({ tenantid, batchid }, 'a batch of events ends every worker: it is given up');
  const matches = batch.rules.flatMap((rule) => {
    const unknown = rule.condition === null ? '' : '; whether its condition holds is not known';
    const message = `each worker that evaluated this rule for the change ended while doing so${unknown}`;
    const failure = { code: 'POISON', message };
    return concernedBy(batch, rule).map(({ eventid }) => ({ eventid, ruleid: rule.ruleid, failure }));
  });
  return closeBatch(deps.ledger, key, inOrderOfEvents(matches, batch.events), deps.limits);
}

function concernedBy(batch: LoadedBatch, rule: EmailRule): readonly OutboxEvent[] {
  return batch.events.filter(
    (event) => rule.operations.includes(event.operation) && rule.targets.includes(event.target),
  );
}

async function matchRule(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  rule: EmailRule,
): Promise<readonly Match[]> {
  const concerned = concernedBy(batch, rule);
  if (rule.condition === null) return concerned.map(({ eventid }) => ({ eventid, ruleid: rule.ruleid }));
  const matches: Match[] = [];
  for (const [target, events] of byTarget(concerned)) {
    const eventids = events.map((event) => event.eventid);
    for (let next = 0; next < eventids.length;) {
      const part = eventids.slice(next, next + EVENTS_AT_ONCE);
      const records = await loadEventRecords(deps.ledger, key, part);
      const last = records.at(-1);
      // Large ones come in smaller parts; of those that retention has removed there is nothing.
      next += last ? part.indexOf(last.eventid) + 1 : part.length;
      const { condition } = rule;
      matches.push(
        ...(await matchCondition(deps, key, batch.schema, { ...rule, target, condition }, records)),
      );
    }
  }
  return matches;
}

/** Where the condition can't be evaluated, for one event or, because its column is gone say, for all, a failed delivery says so. */
async function matchCondition(
  deps: EvaluateDeps,
  key: BatchKey,
  schema: string,
  {
    ruleid,
    target,
    condition,
  }: { readonly ruleid: string; readonly target: string; readonly condition: string },
  loaded: readonly EventRecords[],
): Promise<readonly Match[]> {
  const tooLarge = loaded.filter((record) => record.isTooLarge);
  const refused = tooLarge.map(({ eventid }) => ({ eventid, ruleid, failure: TOO_LARGE }));
  const records = loaded.filter((record) => !record.isTooLarge);
  if (records.length === 0) return refused;
  try {
    const verdicts = await deps.engine.evaluateCondition(key.tenantid, schema, target, condition, records);
    const judged = records.flatMap(({ eventid }, index) => {
      const verdict = verdicts[index];
      if (verdict instanceof AppError) return [{ eventid, ruleid, failure: conditionFailed(verdict) }];
      return verdict === true ? [{ eventid, ruleid }] : [];
    });
    return [...judged, ...refused];
  } catch (error) {
    // The database is away, or the tenant's share of it is taken: the batch comes back.
    if (!(error instanceof AppError) || isBusy(error)) throw error;
    const failure = conditionFailed(error);
    return [...records.map(({ eventid }) => ({ eventid, ruleid, failure })), ...refused];
  }
}

const TOO_LARGE: NonNullable<Match['failure']> = { code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE };

function conditionFailed({ message }: AppError): NonNullable<Match['failure']> {
  return { code: 'CONDITION_FAILED', message: storable(`the rule's condition: ${message}`) };
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

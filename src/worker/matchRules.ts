import {
  loadEventRecords,
  loadLargeRecords,
  type BatchKey,
  type EmailRule,
  type EventRecords,
  type LoadedBatch,
  type OutboxEvent,
} from '../db/outbox/batches.js';
import type { DeliveryLimits, Match } from '../db/ledger/closeBatch.js';
import type { Ledger } from '../db/pool/ledgerPool.js';
import { covers, evaluateCondition, type ConditionResult } from '../email/evaluateCondition.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { TenantLimiter } from '../foundation/limits/tenantLimiter.js';
import type { Logger } from '../foundation/observability/log.js';
import type { FailedEvaluations } from './failedEvaluations.js';

export interface EvaluateDeps {
  readonly ledger: Ledger;
  readonly engine: Pick<DataEngine, 'evaluateCondition'>;
  readonly limits: DeliveryLimits;
  /** Memory for large records. */
  readonly records: TenantLimiter;
  readonly failed: FailedEvaluations;
  readonly log: Logger;
}

/** Maximum events in memory, and in one condition's statement, at once. */
const EVENT_CHUNK_SIZE = 100;

/** Which rules match which of the events, or can't be evaluated for them. */
export async function matchRules(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
): Promise<readonly Match[]> {
  const matches: Match[] = [];
  for (const rule of batch.rules) matches.push(...(await matchRule(deps, key, batch, rule)));
  return matches;
}

const ENDED = 'each worker or database session that evaluated this rule for the change ended while doing so';

/** Each evaluation of this batch was lost: a failed delivery for each rule that might match. */
export function giveUp(
  { log }: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  reason: string = ENDED,
): readonly Match[] {
  const { tenantid, batchid } = key;
  log.error(
    { tenantid, batchid, reason },
    'quarantined a batch of events after its evaluation was lost repeatedly',
  );
  return batch.rules.flatMap((rule) => {
    const unknown = rule.condition === null ? '' : '; whether its condition holds is not known';
    const failure = { code: 'POISON', message: `${reason}${unknown}` };
    return matchingEvents(batch, rule).map(({ eventid }) => ({ eventid, ruleid: rule.ruleid, failure }));
  });
}

/** Nobody could evaluate a condition for an hour: a failed delivery for each rule that has one. */
export function withoutConditions(
  { log }: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
): readonly Match[] {
  const { tenantid, batchid } = key;
  log.error({ tenantid, batchid }, "gave up a batch of events: a tenant's conditions can't be evaluated");
  const message = "the rule's condition: PostgreSQL has refused each attempt to evaluate it for an hour";
  return batch.rules.flatMap((rule) =>
    matchingEvents(batch, rule).map(({ eventid }) =>
      rule.condition === null
        ? { eventid, ruleid: rule.ruleid }
        : { eventid, ruleid: rule.ruleid, failure: { code: 'CONDITION_FAILED', message } },
    ),
  );
}

function matchingEvents(batch: LoadedBatch, rule: EmailRule): readonly OutboxEvent[] {
  return batch.events.filter((event) => covers(rule, event));
}

async function matchRule(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  rule: EmailRule,
): Promise<readonly Match[]> {
  const concerned = matchingEvents(batch, rule);
  if (rule.condition === null) return concerned.map(({ eventid }) => ({ eventid, ruleid: rule.ruleid }));
  const matches: Match[] = [];
  for (const [target, events] of byTarget(concerned)) {
    const eventids = events.map((event) => event.eventid);
    for (let next = 0; next < eventids.length;) {
      const part = eventids.slice(next, next + EVENT_CHUNK_SIZE);
      const records = await loadEventRecords(deps.ledger, key, part);
      const last = records.at(-1);
      // What does not fit comes in the next chunk; events past retention yield none.
      next += last ? part.indexOf(last.eventid) + 1 : part.length;
      const condition = { ...key, schema: batch.schema, target, condition: rule.condition };
      const evaluate = async (loaded: readonly EventRecords[]): Promise<void> => {
        const conditionResults = await evaluateCondition(deps.engine, condition, loaded);
        matches.push(...toMatches(rule.ruleid, loaded, conditionResults));
      };
      await evaluate(records.filter(({ recordBytes }) => recordBytes === 0));
      for (const { eventid, recordBytes } of records) {
        if (recordBytes === 0) continue;
        const load = async (): Promise<void> => evaluate(await loadLargeRecords(deps.ledger, key, eventid));
        await deps.records.run(key.tenantid, load, recordBytes);
      }
    }
  }
  return matches;
}

function toMatches(
  ruleid: string,
  records: readonly EventRecords[],
  conditionResults: readonly ConditionResult[],
): readonly Match[] {
  return records.flatMap(({ eventid }, index) => {
    const conditionResult = conditionResults[index] ?? false;
    if (conditionResult === false) return [];
    return [conditionResult === true ? { eventid, ruleid } : { eventid, ruleid, failure: conditionResult }];
  });
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

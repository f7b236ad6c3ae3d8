import {
  loadBatch,
  loadEventRecords,
  loadLargeRecords,
  type BatchKey,
  type EmailRule,
  type EventRecords,
  type LoadedBatch,
  type OutboxEvent,
} from '../db/outbox/batches.js';
import {
  closeBatch,
  closePlainBatch,
  type ClosedBatch,
  type DeliveryLimits,
  type Match,
} from '../db/ledger/closeBatch.js';
import { countRedeliveredBatchStart } from '../db/outbox/poisonBatches.js';
import type { Ledger } from '../db/pool/ledger.js';
import { covers, judgeCondition, type Judgement } from '../email/judgeCondition.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { FairRoom } from '../foundation/limits/fairRoom.js';
import type { Logger } from '../foundation/observability/log.js';

export interface EvaluateDeps {
  readonly ledger: Ledger;
  readonly engine: Pick<DataEngine, 'evaluateCondition'>;
  readonly limits: DeliveryLimits;
  /** Memory for large records. */
  readonly records: FairRoom;
  readonly log: Logger;
}

/** Maximum events in memory, and in one condition's statement, at once. */
const EVENT_CHUNK_SIZE = 100;

/**
 * Turns a batch of committed events into deliveries, one per event and matching rule. Idempotent, also across workers.
 * @param redelivered whether an earlier worker started the same job and died
 */
export async function evaluateRules(
  deps: EvaluateDeps,
  key: BatchKey,
  redelivered: boolean,
): Promise<ClosedBatch> {
  // Fast path: without conditions, one statement does everything.
  const plain = redelivered ? undefined : await closePlainBatch(deps.ledger, key, deps.limits);
  if (plain) return plain;
  const batch = await loadBatch(deps.ledger, key);
  if (batch?.done === true) return NO_DELIVERIES;
  // The tenant was deleted.
  if (!batch) return closeBatch(deps.ledger, key, [], deps.limits);
  if (redelivered) {
    const fate = await countRedeliveredBatchStart(deps.ledger, key, batch.events.length);
    if (fate === 'split') return NO_DELIVERIES;
    if (fate === 'give-up') return giveUp(deps, key, batch);
  }
  const matches: Match[] = [];
  for (const rule of batch.rules) matches.push(...(await matchRule(deps, key, batch, rule)));
  return closeBatch(deps.ledger, key, matches, deps.limits);
}

const NO_DELIVERIES: ClosedBatch = { ready: [], soon: [], trips: [] };

/** Every worker that evaluated this batch died: records a failed delivery for each rule that might match. */
function giveUp(deps: EvaluateDeps, key: BatchKey, batch: LoadedBatch): Promise<ClosedBatch> {
  const { tenantid, batchid } = key;
  deps.log.error({ tenantid, batchid }, 'gave up on a batch of events that crashes every worker');
  const matches = batch.rules.flatMap((rule) => {
    const unknown = rule.condition === null ? '' : '; whether its condition holds is not known';
    const message = `each worker that evaluated this rule for the change ended while doing so${unknown}`;
    const failure = { code: 'POISON', message };
    return matchingEvents(batch, rule).map(({ eventid }) => ({ eventid, ruleid: rule.ruleid, failure }));
  });
  return closeBatch(deps.ledger, key, matches, deps.limits);
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
        const judgements = await judgeCondition(deps.engine, condition, loaded);
        matches.push(...toMatches(rule.ruleid, loaded, judgements));
      };
      await evaluate(records.filter(({ recordBytes }) => recordBytes === 0));
      for (const { eventid, recordBytes } of records) {
        if (recordBytes === 0) continue;
        await deps.records.run(key.tenantid, recordBytes, async () =>
          evaluate(await loadLargeRecords(deps.ledger, key, eventid)),
        );
      }
    }
  }
  return matches;
}

function toMatches(
  ruleid: string,
  records: readonly EventRecords[],
  judgements: readonly Judgement[],
): readonly Match[] {
  return records.flatMap(({ eventid }, index) => {
    const judgement = judgements[index] ?? false;
    if (judgement === false) return [];
    return [judgement === true ? { eventid, ruleid } : { eventid, ruleid, failure: judgement }];
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

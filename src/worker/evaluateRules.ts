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
  type ClosedBatch,
  type DeliveryLimits,
  type Evaluation,
  type Match,
} from '../db/delivery/closeBatch.js';
import { countRedeliveredBatchStart } from '../db/delivery/poisonBatches.js';
import type { Ledger } from '../db/connection/ledger.js';
import { covers, judgeCondition, type Judgement } from '../email/judgeCondition.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import type { Logger } from '../log.js';

export interface EvaluateDeps {
  readonly ledger: Ledger;
  readonly engine: Pick<DataEngine, 'evaluateCondition'>;
  readonly limits: DeliveryLimits;
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
  const closed = redelivered ? undefined : await closeBatch(deps.ledger, key, deps.limits);
  if (closed) return closed;
  const batch = await loadBatch(deps.ledger, key);
  if (batch?.done === true) return NO_DELIVERIES;
  const evaluation = batch && (await evaluateConditions(deps, key, batch, redelivered));
  if (evaluation === 'split') return NO_DELIVERIES;
  // If a condition was added meanwhile the batch stays open, and the reconciler queues it again.
  return (await closeBatch(deps.ledger, key, deps.limits, evaluation)) ?? NO_DELIVERIES;
}

const NO_DELIVERIES: ClosedBatch = { ready: [], soon: [], trips: [] };

async function evaluateConditions(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  redelivered: boolean,
): Promise<Evaluation | 'split'> {
  if (redelivered) {
    const fate = await countRedeliveredBatchStart(deps.ledger, key, batch.events.length);
    if (fate === 'split') return 'split';
    if (fate === 'give-up') return giveUp(deps, key, batch);
  }
  const ruleids: string[] = [];
  const matches: Match[] = [];
  for (const { condition, ...rule } of batch.rules) {
    if (condition === null) continue;
    ruleids.push(rule.ruleid);
    matches.push(...(await matchRule(deps, key, batch, { ...rule, condition })));
  }
  return { ruleids, matches };
}

/** Every worker that evaluated this batch died: each rule that might match gets a failed delivery. */
function giveUp(deps: EvaluateDeps, { tenantid, batchid }: BatchKey, batch: LoadedBatch): Evaluation {
  deps.log.error({ tenantid, batchid }, 'a batch of events ends every worker: it is given up');
  const matches = batch.rules.flatMap((rule) => {
    const unknown = rule.condition === null ? '' : '; whether its condition holds is not known';
    const message = `each worker that evaluated this rule for the change ended while doing so${unknown}`;
    const failure = { code: 'POISON', message };
    return matchingEvents(batch, rule).map(({ eventid }) => ({ eventid, ruleid: rule.ruleid, failure }));
  });
  return { ruleids: batch.rules.map(({ ruleid }) => ruleid), matches };
}

function matchingEvents(batch: LoadedBatch, rule: EmailRule): readonly OutboxEvent[] {
  return batch.events.filter((event) => covers(rule, event));
}

async function matchRule(
  deps: EvaluateDeps,
  key: BatchKey,
  batch: LoadedBatch,
  rule: EmailRule & { readonly condition: string },
): Promise<readonly Match[]> {
  const matches: Match[] = [];
  for (const [target, events] of byTarget(matchingEvents(batch, rule))) {
    const eventids = events.map((event) => event.eventid);
    for (let next = 0; next < eventids.length;) {
      const part = eventids.slice(next, next + EVENT_CHUNK_SIZE);
      const records = await loadEventRecords(deps.ledger, key, part);
      const last = records.at(-1);
      // Large records come in smaller chunks; events past retention yield none.
      next += last ? part.indexOf(last.eventid) + 1 : part.length;
      const condition = { ...key, schema: batch.schema, target, condition: rule.condition };
      const judgements = await judgeCondition(deps.engine, condition, records);
      matches.push(...toMatches(rule.ruleid, records, judgements));
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

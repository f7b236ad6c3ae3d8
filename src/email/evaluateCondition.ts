import type { EmailRule, EventRecords, OutboxEvent } from '../db/outbox/batches.js';
import { RECORD_TOO_LARGE } from '../db/outbox/recordSize.js';
import { AppError } from '../foundation/errors.js';
import type { DataEngine } from '../graphql/dataEngine.js';
import { toPostgresText } from '../foundation/postgresText.js';
import { isBusy } from './transientErrors.js';

/** Whether the rule applies to such events, apart from its condition. */
export function covers(
  rule: Pick<EmailRule, 'operations' | 'targets'>,
  event: Pick<OutboxEvent, 'operation' | 'target'>,
): boolean {
  return rule.operations.includes(event.operation) && rule.targets.includes(event.target);
}

export interface ConditionFailure {
  readonly code: 'CONDITION_FAILED' | 'EVENT_TOO_LARGE';
  readonly message: string;
}

/** Whether a rule's condition holds for an event, or why it can't be evaluated. */
export type ConditionResult = boolean | ConditionFailure;

/** A rule's condition, and the table of the events. */
export interface RuleCondition {
  readonly tenantid: number;
  readonly schema: string;
  readonly target: string;
  readonly condition: string;
}

/**
 * Evaluates a condition for events, in their order. If it can't be evaluated for one event or for all (for example, because
 * its column was dropped), the result for these events is a failure. Throws AppError if the database is busy or unavailable.
 */
export async function evaluateCondition(
  engine: Pick<DataEngine, 'evaluateCondition'>,
  { tenantid, schema, target, condition }: RuleCondition,
  events: readonly EventRecords[],
): Promise<readonly ConditionResult[]> {
  const readable = events.filter((event) => !event.isTooLarge);
  const evaluated = new Map<EventRecords, ConditionResult>();
  try {
    const results =
      readable.length === 0
        ? []
        : await engine.evaluateCondition(tenantid, schema, target, condition, readable);
    readable.forEach((event, index) => {
      const result = results[index];
      evaluated.set(event, result instanceof AppError ? conditionFailed(result) : result === true);
    });
  } catch (error) {
    if (!(error instanceof AppError) || isBusy(error)) throw error;
    const failure = conditionFailed(error);
    for (const event of readable) evaluated.set(event, failure);
  }
  return events.map((event) => evaluated.get(event) ?? TOO_LARGE);
}

const TOO_LARGE: ConditionFailure = { code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE };

function conditionFailed({ message }: AppError): ConditionFailure {
  return { code: 'CONDITION_FAILED', message: toPostgresText(`the rule's condition: ${message}`) };
}

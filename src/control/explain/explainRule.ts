import type { RowDelivery, RowEvent, TenantRule } from '../../db/outbox/eventsOfRow.js';
import { covers, type ConditionResult } from '../../email/evaluateCondition.js';
import { valuesSeen, type ConditionFacts, type SeenValue, type ShownRecords } from './conditionValues.js';

export const REASONS = {
  matched: 'The rule created a delivery.',
  will_match: 'The rule matches, and the event is still waiting to be evaluated.',
  other_table: "The rule's targets do not include the table.",
  other_operation: "The rule's operations do not include the operation of the change.",
  disabled: 'The rule is disabled.',
  made_after: 'The rule was created after the change.',
  condition_false: "The rule's condition is false.",
  condition_failed: "The rule's condition could not be evaluated.",
  changed_since: 'The rule matches now, but did not when the event was evaluated.',
  not_evaluated: "There was no time left to evaluate the rule's condition.",
} as const;
export type Reason = keyof typeof REASONS;

export interface ExplainedRule {
  readonly ruleid: string;
  /** Null for a rule that has been deleted. */
  readonly name: string | null;
  readonly reason: Reason;
  readonly explanation: string;
  readonly condition: string | null;
  readonly saw: readonly SeenValue[];
  readonly delivery: RowDelivery | null;
}

/** An event of a row, with its table. */
export type EventOfTable = Pick<RowEvent, 'operation' | 'progress' | 'timeSeconds'> & {
  readonly target: string;
};

export interface Evidence {
  readonly delivery: RowDelivery | undefined;
  /** The result of the rule's condition; undefined if it has none, or if there was no time to evaluate it. */
  readonly conditionResult: ConditionResult | undefined;
  readonly facts: ConditionFacts;
  readonly records: ShownRecords;
}

/** Whether the rule's condition has to be evaluated to explain what became of the event. */
export function dependsOnCondition(rule: TenantRule, event: EventOfTable): boolean {
  return rule.condition !== null && plainReason(rule, event) === undefined;
}

/** Explains why the rule matched the event, or did not. */
export function explainRule(
  rule: TenantRule,
  event: EventOfTable,
  { delivery, conditionResult, facts, records }: Evidence,
): ExplainedRule {
  const { ruleid, name, condition } = rule;
  const [reason, words] = delivery
    ? ofDelivery(delivery)
    : (plainReason(rule, event) ?? ofCondition(rule, event, conditionResult, facts));
  const saw = USES_CONDITION.has(reason) ? valuesSeen(facts, records) : [];
  const explanation = reason === 'condition_false' ? `${words}${aboutNulls(facts, saw)}` : words;
  return { ruleid, name, reason, explanation, condition, saw, delivery: delivery ?? null };
}

/** Why nothing is unlike a null, where that may have decided. */
function aboutNulls({ unlike, neverHolds }: ConditionFacts, saw: readonly SeenValue[]): string {
  const nulls = saw.filter(({ name, value }) => value === null && unlike.includes(name));
  if (nulls.length === 0 || neverHolds !== undefined) return '';
  const names = listed(nulls.map(({ name }) => name));
  return ` Null is neither equal nor unequal to a value (${names}): \`is distinct from\` compares nulls too.`;
}

/** Explains a delivery of a rule that has been deleted. */
export function explainDeletedRule(delivery: RowDelivery): ExplainedRule {
  const [reason, words] = ofDelivery(delivery);
  const explanation = `${words} The rule has been deleted since.`;
  return { ruleid: delivery.ruleid, name: null, reason, explanation, condition: null, saw: [], delivery };
}

/** How far an event has come, in words. */
export const PROGRESS: Readonly<Record<RowEvent['progress'], string>> = {
  waiting: 'waits for the relay',
  queued: 'waits for a worker',
  evaluated: 'compared with the rules',
};

/** The rules about the table of the event, and the number of those about others. */
export function byTable<Rule extends { readonly reason: Reason }>(
  rules: readonly Rule[],
): readonly [about: readonly Rule[], elsewhere: number] {
  const about = rules.filter(({ reason }) => reason !== 'other_table');
  return [about, rules.length - about.length];
}

/** Reasons that are understood only with the condition at hand. */
export const USES_CONDITION: ReadonlySet<Reason> = new Set([
  'matched',
  'will_match',
  'condition_false',
  'condition_failed',
  'changed_since',
]);

type Explanation = readonly [reason: Reason, explanation: string];

function ofDelivery({ deliveryid, error_code, error }: RowDelivery): Explanation {
  return error_code === 'CONDITION_FAILED'
    ? ['condition_failed', error ?? '']
    : ['matched', `The rule matched: delivery ${deliveryid}.`];
}

/** Reasons that don't depend on the row. */
function plainReason(rule: TenantRule, event: EventOfTable): Explanation | undefined {
  const { operation, target, progress, timeSeconds } = event;
  if (!rule.targets.includes(target)) {
    return ['other_table', `The rule is for ${listed(rule.targets)}, not ${target}.`];
  }
  if (!covers(rule, event)) {
    return ['other_operation', `The rule is for ${listed(rule.operations)}, not ${operation}.`];
  }
  if (!rule.enabled) return ['disabled', 'The rule is disabled.'];
  if (progress === 'evaluated' && rule.createdSeconds > timeSeconds) {
    return ['made_after', 'The rule was created after the change.'];
  }
  return undefined;
}

function ofCondition(
  { condition }: TenantRule,
  { progress }: EventOfTable,
  conditionResult: ConditionResult | undefined,
  { neverHolds, related }: ConditionFacts,
): Explanation {
  if (condition !== null && conditionResult === undefined) {
    return ['not_evaluated', 'There was no time left to evaluate the condition.'];
  }
  if (conditionResult === false) {
    const elsewhere =
      related.length > 0
        ? ` It reads other rows, whose values at that time are not recorded: ${listed(related)}.`
        : '';
    return ['condition_false', neverHolds ?? `The condition is false.${elsewhere}`];
  }
  if (typeof conditionResult === 'object') return ['condition_failed', conditionResult.message];
  if (progress === 'evaluated') {
    const then = 'When the event was evaluated, the rule was disabled or different';
    return [
      'changed_since',
      `The rule matches now. ${then}, or rows that its condition reads were different.`,
    ];
  }
  const whom = progress === 'waiting' ? 'the relay' : 'a worker';
  return ['will_match', `The rule matches; the event waits for ${whom}.`];
}

const MAX_NAMES = 5;

function listed(names: readonly string[]): string {
  const left = names.length - MAX_NAMES;
  return left > 0 ? `${names.slice(0, MAX_NAMES).join(', ')} and ${left} more` : names.join(', ');
}

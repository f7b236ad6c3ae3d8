import type { Table } from '../../db/catalog/catalog.js';
import type { RowDelivery, RowEvent, TenantRule } from '../../db/delivery/eventsOfRow.js';
import { covers, type Judgement } from '../../email/judgeCondition.js';
import { AppError } from '../../errors.js';
import { requireMayHold } from '../../graphql/email/neverHolds.js';
import { parseFilter } from '../../graphql/filter/parser.js';
import { pathsOf } from '../../graphql/filter/walk.js';
import { isJsonObject, parseJson, writeJson } from '../../losslessJson.js';

export const REASONS = {
  matched: 'It made a delivery.',
  will_match: 'It matches, and the event waits.',
  other_table: 'Its targets do not name the table.',
  other_operation: 'Its operations do not name what was done.',
  disabled: 'It is disabled.',
  made_after: 'It was made after the change.',
  condition_false: 'Its condition does not hold.',
  condition_failed: 'Its condition could not be evaluated.',
  changed_since: 'It matches now, and did not when the event was compared with the rules.',
  not_evaluated: 'There was no time left to evaluate its condition.',
} as const;
export type Reason = keyof typeof REASONS;

/** A value of the row that a condition names. */
export interface SeenValue {
  readonly name: string;
  readonly value: unknown;
}

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

/** Whether the rule's condition has to be evaluated to tell what became of the event. */
export function isOpen(rule: TenantRule, event: RowEvent & { readonly target: string }): boolean {
  return rule.condition !== null && plainReason(rule, event) === undefined;
}

/** Why the rule matched the event, or did not. `judgement` is of its condition; undefined where there was no time for it. */
export function explainRule(
  rule: TenantRule,
  event: RowEvent & { readonly target: string },
  table: Table,
  { delivery, judgement }: { readonly delivery?: RowDelivery; readonly judgement?: Judgement },
): ExplainedRule {
  const { ruleid, name, condition } = rule;
  const say = (reason: Reason, explanation: string): ExplainedRule => {
    const saw = condition !== null && USES_CONDITION.has(reason) ? valuesSeen(condition, event, table) : [];
    return { ruleid, name, reason, explanation, condition, saw, delivery: delivery ?? null };
  };
  if (delivery) return say(...ofDelivery(delivery));
  const plain = plainReason(rule, event);
  if (plain) return say(...plain);
  if (condition !== null && judgement === undefined) {
    return say('not_evaluated', 'There was no time left to evaluate the condition.');
  }
  if (judgement === false) return say('condition_false', doesNotHold(rule));
  if (typeof judgement === 'object') return say('condition_failed', judgement.message);
  if (event.progress === 'evaluated') {
    return say(
      'changed_since',
      'The rule matches as it is now. When the event was compared with it, it was disabled or different, or rows that its condition reads were.',
    );
  }
  const whom = event.progress === 'waiting' ? 'the relay' : 'a worker';
  return say('will_match', `The rule matches; the event waits for ${whom}.`);
}

/** A delivery of a rule that is gone. */
export function explainDeletedRule(delivery: RowDelivery): ExplainedRule {
  const [reason, explanation] = ofDelivery(delivery);
  return {
    ruleid: delivery.ruleid,
    name: null,
    reason,
    explanation: `${explanation} The rule has been deleted since.`,
    condition: null,
    saw: [],
    delivery,
  };
}

const USES_CONDITION: ReadonlySet<Reason> = new Set([
  'matched',
  'will_match',
  'condition_false',
  'condition_failed',
  'changed_since',
]);

function ofDelivery({ deliveryid, error_code, error }: RowDelivery): [Reason, string] {
  return error_code === 'CONDITION_FAILED'
    ? ['condition_failed', error ?? '']
    : ['matched', `The rule matched: delivery ${deliveryid}.`];
}

/** What needs no look at the row. */
function plainReason(
  rule: TenantRule,
  event: RowEvent & { readonly target: string },
): [Reason, string] | undefined {
  if (!rule.targets.includes(event.target)) {
    return ['other_table', `The rule is about ${rule.targets.join(', ')}, not ${event.target}.`];
  }
  if (!covers(rule, event)) {
    return [
      'other_operation',
      `The rule reacts to ${rule.operations.join(', ')}, and this is ${event.operation}.`,
    ];
  }
  if (!rule.enabled) return ['disabled', 'The rule is disabled.'];
  if (event.progress === 'evaluated' && rule.createdSeconds > event.timeSeconds) {
    return ['made_after', 'The rule was made after the change.'];
  }
  return undefined;
}

/** Rules that were made before such conditions were refused are still there. */
function doesNotHold({ condition, operations }: TenantRule): string {
  try {
    if (condition !== null) requireMayHold(condition, operations);
  } catch (error) {
    if (error instanceof AppError) return error.message;
    throw error;
  }
  return 'The condition does not hold.';
}

const MAX_VALUE_CHARACTERS = 200;

/** Columns of the row before and after the change that the condition names; what relations lead to is not recorded. */
function valuesSeen(condition: string, event: RowEvent, table: Table): readonly SeenValue[] {
  const records = { new: readRecord(event.new), old: readRecord(event.old) };
  const seen = new Map<string, unknown>();
  for (const [record, name, ...further] of namesIn(condition)) {
    if ((record !== 'new' && record !== 'old') || name === undefined || further.length > 0) continue;
    const column = table.columns.get(name);
    if (column) seen.set(`${record}.${name}`, shortened(valueOf(records[record], column.sqlName)));
  }
  return [...seen].map(([name, value]) => ({ name, value }));
}

/** One that does not parse any more says so when it is evaluated. */
function namesIn(condition: string): readonly (readonly string[])[] {
  try {
    return pathsOf(parseFilter(condition).tree).map(({ names }) => names);
  } catch (error) {
    if (error instanceof AppError) return [];
    throw error;
  }
}

function readRecord(text: string | null): Readonly<Record<string, unknown>> | undefined {
  const record: unknown = text === null ? null : parseJson(text);
  return isJsonObject(record) ? record : undefined;
}

function valueOf(record: Readonly<Record<string, unknown>> | undefined, name: string): unknown {
  return record && Object.hasOwn(record, name) ? record[name] : null;
}

function shortened(value: unknown): unknown {
  const text = typeof value === 'string' ? value : writeJson(value);
  return text.length > MAX_VALUE_CHARACTERS ? `${text.slice(0, MAX_VALUE_CHARACTERS)}…` : value;
}

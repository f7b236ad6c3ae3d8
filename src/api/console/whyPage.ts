import { Router } from 'express';
import { byTable, PROGRESS, USES_CONDITION, type Reason } from '../../control/explain/explainRule.js';
import { readKeyText } from '../../control/explain/readKeyText.js';
import { isJsonObject, writeJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { keyText, readRecentRows } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { STATUSES } from './deliveryFilter.js';
import { readRoleNames } from './deliveryPages.js';
import { causeOf, showKey, type RoleNames } from './deliveryView.js';
import { problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { findReferringRows, findRows } from './rowSearch.js';
import { HAPPENS } from './words.js';

const EXPLAIN = `query ($target: String!, $key: GenericScalar!) {
  Utility {
    explain_event(target: $target, key: $key) {
      target key writers row_exists notes has_more
      events {
        time operation roleid writer application progress
        rules { ruleid name reason explanation condition saw { name value }
          delivery { deliveryid email_type status attempts error_code error next_attempt sent_time } }
      }
    }
  }
}`;
const TABLES = '{ Utility { available_schemas_and_tables } }';

interface Explanation {
  readonly key: unknown;
  readonly events: readonly {
    readonly progress: keyof typeof PROGRESS;
    readonly operation: string;
    readonly roleid: number | null;
    readonly rules: readonly {
      readonly reason: Reason;
      readonly condition: string | null;
      readonly saw: readonly { readonly name: string; readonly value: unknown }[];
      readonly delivery: { readonly status: string; readonly error_code: string | null } | null;
    }[];
  }[];
}

const MAX_LENGTH = 2_000;

/** The page that explains what became of a row's changes, and why nothing did. */
export function whyPage({ page }: PageHandlers): Router {
  const why = page(async (visit, req) => {
    const { query, show } = visit;
    const person = textOf(req.query, 'person');
    const table = textOf(req.query, 'table', MAX_LENGTH);
    // The forms of rows link here with an object even for a single column.
    const key = keyText(readKeyText(textOf(req.query, 'key', MAX_LENGTH)));
    // Always queried, because it rejects roles that may not have explanations.
    const { Utility } = await query<{ Utility: { available_schemas_and_tables: object } }>(TABLES);
    const tables = Object.values(Utility.available_schemas_and_tables).flat() as readonly string[];
    const values = { title: 'What became of a row?', person, table, key, tables };
    try {
      const found = person === '' ? undefined : await findRows(visit, person);
      const rows = table === '' ? [] : await readRecentRows(query, table);
      const explanation = table === '' || key === '' ? undefined : await explain(query, table, key);
      const referring =
        explanation && isJsonObject(explanation.key)
          ? await findReferringRows(visit, table, explanation.key)
          : [];
      const roles = await readRoleNames(query, explanation?.events.map(({ roleid }) => roleid) ?? []);
      await show('why', {
        ...values,
        found,
        referring,
        rows,
        explanation: explanation && toView(explanation, roles),
      });
    } catch (error) {
      await show('why', values, { problem: problemOf(error) });
    }
  });
  return Router().get(`${CONSOLE}/why`, why);
}

async function explain(query: Visit['query'], target: string, key: string): Promise<Explanation> {
  const { Utility } = await query<{ Utility: { explain_event: Explanation } }>(EXPLAIN, {
    target,
    key: readKeyText(key),
  });
  return Utility.explain_event;
}

/** What a rule did, after its name. */
const WORDS: Readonly<Record<Reason, string>> = {
  matched: 'matched',
  will_match: 'matches, once the change is compared with the rules',
  other_table: 'is about other tables',
  other_operation: 'is for other kinds of change',
  disabled: 'is disabled',
  made_after: 'was made after the change',
  condition_false: 'did not match: its condition was not met',
  condition_failed: 'could not be compared: its condition failed',
  changed_since: 'matches now, but did not then',
  not_evaluated: 'was not compared yet',
};
/** Reasons of which the words say all. */
const SAID: ReadonlySet<Reason> = new Set(['matched', 'will_match', 'other_table', 'disabled', 'made_after']);

/** What the change led to, once it was compared with the rules. */
function outcomeOf({ progress, rules }: Explanation['events'][number]): string {
  const emails = rules.filter(({ delivery }) => delivery !== null).length;
  if (emails > 0) return emails === 1 ? '1 email' : `${emails} emails`;
  if (progress !== 'evaluated') return PROGRESS[progress];
  return rules.some(({ reason }) => reason !== 'other_table')
    ? 'no email, because no rule matched'
    : 'no email, because no rule is about this table';
}

function toView(explanation: Explanation, roles: RoleNames): object {
  return {
    ...explanation,
    key: showKey(explanation.key),
    events: explanation.events.map((event) => {
      const [about, elsewhere] = byTable(event.rules);
      return {
        ...event,
        happened: ownValue(HAPPENS, event.operation) ?? event.operation,
        by: roles.get(String(event.roleid)) ?? `role ${String(event.roleid)}`,
        outcome: outcomeOf(event),
        elsewhere,
        rules: about.map((rule) => ({
          ...rule,
          words: WORDS[rule.reason],
          isSaid: SAID.has(rule.reason),
          statusLabel: rule.delivery ? ownValue(STATUSES, rule.delivery.status) : undefined,
          condition: USES_CONDITION.has(rule.reason) ? rule.condition : null,
          saw: rule.saw.map(({ name, value }) => ({ name, value: writeJson(value) })),
          problem: rule.delivery ? causeOf(rule.delivery) : undefined,
        })),
      };
    }),
  };
}

import { Router } from 'express';
import { byTable, PROGRESS, USES_CONDITION, type Reason } from '../../control/explain/explainRule.js';
import { readKeyText } from '../../control/explain/readKeyText.js';
import { writeJson } from '../../foundation/json/losslessJson.js';
import { keyText, readRecentRows } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { deliveryError } from './deliveryErrors.js';
import { showKey } from './deliveryView.js';
import { problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const EXPLAIN = `query ($target: String!, $key: GenericScalar!) {
  Utility {
    explain_event(target: $target, key: $key) {
      target key writers row_exists notes has_more
      events {
        time operation roleid writer application progress
        rules { ruleid name reason explanation condition saw { name value }
          delivery { deliveryid email_type state attempts error_code error next_attempt sent_time } }
      }
    }
  }
}`;
const TABLES = '{ Utility { available_schemas_and_tables } }';

interface Explanation {
  readonly key: unknown;
  readonly events: readonly {
    readonly progress: keyof typeof PROGRESS;
    readonly rules: readonly {
      readonly reason: Reason;
      readonly condition: string | null;
      readonly saw: readonly { readonly name: string; readonly value: unknown }[];
      readonly delivery: { readonly error_code: string | null } | null;
    }[];
  }[];
}

const MAX_LENGTH = 2_000;

/** The page that explains what became of a row's changes, and why nothing did. */
export function whyPage({ page }: PageHandlers): Router {
  const why = page(async ({ query, show }, req) => {
    const table = textOf(req.query, 'table', MAX_LENGTH);
    // The forms of rows link here with an object even for a single column.
    const key = keyText(readKeyText(textOf(req.query, 'key', MAX_LENGTH)));
    // Always queried, because it rejects roles that may not have explanations.
    const { Utility } = await query<{ Utility: { available_schemas_and_tables: object } }>(TABLES);
    const tables = Object.values(Utility.available_schemas_and_tables).flat() as readonly string[];
    const values = { title: 'Why did nothing happen?', table, key, tables };
    try {
      const rows = table === '' ? [] : await readRecentRows(query, table);
      const explanation = table === '' || key === '' ? undefined : await explain(query, table, key);
      await show('why', { ...values, rows, explanation: explanation && toView(explanation) });
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

function toView(explanation: Explanation): object {
  return {
    ...explanation,
    key: showKey(explanation.key),
    events: explanation.events.map((event) => {
      const [about, elsewhere] = byTable(event.rules);
      return {
        ...event,
        progress: PROGRESS[event.progress],
        elsewhere,
        rules: about.map((rule) => ({
          ...rule,
          reason: rule.reason.replaceAll('_', ' '),
          condition: USES_CONDITION.has(rule.reason) ? rule.condition : null,
          saw: rule.saw.map(({ name, value }) => ({ name, value: writeJson(value) })),
          problem: rule.delivery?.error_code == null ? undefined : deliveryError(rule.delivery.error_code),
        })),
      };
    }),
  };
}

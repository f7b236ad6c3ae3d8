import { Router } from 'express';
import { readKeyText } from '../../control/explain/rowKeyText.js';
import { isJsonObject, writeJson } from '../../losslessJson.js';
import { CONSOLE } from './consolePath.js';
import { deliveryError } from './deliveryErrors.js';
import { toTime } from './deliveryView.js';
import type { PageKinds } from './pageKinds.js';

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
    readonly time: string;
    readonly progress: string;
    readonly rules: readonly {
      readonly reason: string;
      readonly saw: readonly { readonly name: string; readonly value: unknown }[];
      readonly delivery: { readonly error_code: string | null; readonly next_attempt: string | null } | null;
    }[];
  }[];
}

const MAX_LENGTH = 2_000;

/** What became of the changes of a row, and why nothing did. */
export function whyPage({ page }: PageKinds): Router {
  const why = page(async ({ ask, show }, req) => {
    const table = textOf(req.query['table']);
    const key = textOf(req.query['key']);
    // Asked in any case: it refuses whoever may not ask for an explanation.
    const { Utility } = await ask<{ Utility: { available_schemas_and_tables: object } }>(TABLES);
    const tables = Object.values(Utility.available_schemas_and_tables).flat();
    const explanation =
      table === '' || key === ''
        ? undefined
        : (
            await ask<{ Utility: { explain_event: Explanation } }>(EXPLAIN, {
              target: table,
              key: readKeyText(key),
            })
          ).Utility.explain_event;
    await show('why', {
      title: 'Why did nothing happen?',
      table,
      key,
      tables,
      explanation: explanation && toView(explanation),
    });
  });
  return Router().get(`${CONSOLE}/why`, why);
}

function textOf(given: unknown): string {
  return typeof given === 'string' ? given.trim().slice(0, MAX_LENGTH) : '';
}

const PROGRESS: Readonly<Record<string, string>> = {
  waiting: 'waits for the relay',
  queued: 'waits for a worker',
  evaluated: 'compared with the rules',
};

function toView(explanation: Explanation): object {
  return {
    ...explanation,
    key: isJsonObject(explanation.key) ? writeJson(explanation.key) : '',
    events: explanation.events.map((event) => ({
      ...event,
      time: toTime(event.time),
      progress: PROGRESS[event.progress],
      rules: event.rules.map((rule) => ({
        ...rule,
        reason: rule.reason.replaceAll('_', ' '),
        saw: rule.saw.map(({ name, value }) => ({ name, value: writeJson(value) })),
        nextAttempt: rule.delivery?.next_attempt == null ? undefined : toTime(rule.delivery.next_attempt),
        problem: rule.delivery?.error_code == null ? undefined : deliveryError(rule.delivery.error_code),
      })),
    })),
  };
}

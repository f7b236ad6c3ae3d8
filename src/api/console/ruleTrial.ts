import { showKey } from './deliveryView.js';
import type { Values } from './formValues.js';
import type { Visit } from './pageHandlers.js';
import { ownValue } from '../../foundation/ownValue.js';
import { keyText } from './choices.js';
import { PREVIEW_SELECTION, type Preview } from './emailPreview.js';
import { HAPPENS } from './words.js';

const ARGS = '$input: email_ruleInput, $ruleid: ID';
const PASSED = 'input: $input, ruleid: $ruleid';
const document = (selection: string): string =>
  `query (${ARGS}) { Utility { trial: try_email_rule(${PASSED}) { ${selection} } } }`;

const TRIAL = document(`changes matched failed failure since has_more searched_since retention_days
  matches { eventid time operation target key } other_rules { ruleid name email_type matched }`);
const OTHERS = document('other_rules { ruleid name email_type }');
const PROBLEMS = document('problems { field message hint }');
const PREVIEW = `query (${ARGS}, $eventid: ID) { Utility { trial: try_email_rule(${PASSED}) {
  preview(eventid: $eventid) { ${PREVIEW_SELECTION} } } } }`;

interface Trial {
  readonly matched: number;
  readonly matches: readonly { readonly operation: string; readonly key: unknown }[];
  readonly other_rules: readonly { readonly matched: number }[];
}

/** A rule as its form has it. */
export interface FormRule {
  /** Empty for a new one. */
  readonly id: string;
  readonly input: Values;
}

async function ask<T>(
  query: Visit['query'],
  selection: string,
  { id, input }: FormRule,
  more: Values = {},
): Promise<T> {
  const ruleid = id === '' ? null : id;
  const { Utility } = await query<{ Utility: { readonly trial: T } }>(selection, {
    input,
    ruleid,
    ...more,
  });
  return Utility.trial;
}

/** What the rule would have done. */
export async function tryRule(query: Visit['query'], rule: FormRule): Promise<object> {
  const trial = await ask<Trial>(query, TRIAL, rule);
  const others =
    trial.matched === 0 ? trial.other_rules : trial.other_rules.filter(({ matched }) => matched > 0);
  return {
    ...trial,
    others,
    matches: trial.matches.map((match) => ({
      ...match,
      happened: ownValue(HAPPENS, match.operation) ?? match.operation,
      shownKey: showKey(match.key),
      keyText: keyText(match.key),
    })),
  };
}

/** Other rules that may send for the same changes as a saved one. */
export async function readOthers(query: Visit['query'], id: string): Promise<readonly object[]> {
  return (await ask<Pick<Trial, 'other_rules'>>(query, OTHERS, { id, input: {} })).other_rules;
}

/** All that saving it would be refused for. */
export async function readProblems(
  query: Visit['query'],
  rule: FormRule,
): Promise<readonly { readonly field: string; readonly message: string; readonly hint: string }[]> {
  const { problems } = await ask<{
    readonly problems: readonly {
      readonly field: string | null;
      readonly message: string;
      readonly hint: string | null;
    }[];
  }>(query, PROBLEMS, rule);
  return problems.map(({ field, message, hint }) => ({ field: field ?? '', message, hint: hint ?? '' }));
}

/** The email for a change; null if there is none. */
export async function previewRule(
  query: Visit['query'],
  rule: FormRule,
  eventid: string,
): Promise<Preview | null> {
  const { preview } = await ask<{ readonly preview: Preview | null }>(query, PREVIEW, rule, {
    eventid: eventid === '' ? null : eventid,
  });
  return preview;
}

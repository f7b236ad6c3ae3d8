import { activityOf } from './activityOf.js';
import { Router } from 'express';
import { OPERATIONS } from '../../control/email/checkEmailRule.js';
import { emailRule } from '../../control/objects/emailRule.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { readChoices, type Choices } from './choices.js';
import type { FormColumns } from './conditionForm.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { toShown } from './emailPreview.js';
import { formProblems, type FieldWords, type FormProblem } from './formProblems.js';
import { checkedOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import {
  changedBy,
  conditionView,
  expressionOf,
  readColumns,
  readCondition,
  rowProblems,
  toInput,
  withoutPosition,
  type ConditionInput,
} from './ruleCondition.js';
import { previewRule, readOthers, readProblems, tryRule } from './ruleTrial.js';
import { HAPPENS } from './words.js';

const RULES = `${CONSOLE}/rules`;

const CHOICES =
  '{ email_types(ordering: ["email_type"], limit: 200) { email_type } Utility { tables { name writable } } }';
const NEWEST = '{ email_rule(ordering: ["ruleid desc"], limit: 1) { query_roleid } }';
const rules = new ObjectRequests(
  emailRule,
  'ruleid name operations targets email_type query_roleid condition enabled delivery',
  ['name'],
);

/** Pages for email rules: which changes send which email, shown as sentences. */
export function rulePages({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const { shown, ...links } = await rules.page(visit, RULES, req.query);
    const { roles } = await readChoices(visit.query);
    const nameOf = (roleid: unknown): string =>
      roles.find((role) => role.roleid === String(roleid))?.label ?? `role ${String(roleid)}`;
    await visit.show('rules', {
      title: 'Rules',
      rules: shown.map((rule) => ({
        ...rule,
        role: nameOf(rule['query_roleid']),
        whatHappens: (rule['operations'] as readonly string[]).map((name) => ownValue(HAPPENS, name) ?? name),
      })),
      notice: ownValue(NOTICES, textOf(req.query, 'done')),
      ...links,
    });
  });

  const edit = page(async (visit, req) => {
    const id = textOf(req.query, 'id');
    // Always queried, because it rejects roles that may not see rules.
    const saved = await rules.find(visit, `ruleid = ${/^\d{1,18}$/.test(id) ? id : '0'}`);
    if (!saved && id !== '') throw new AppError('NOT_FOUND', 'There is no such rule.');
    const rule = saved ?? (await newRule(visit, req.query));
    const choices = await readRuleChoices(visit.query, rule);
    const form = { rule, choices, condition: toInput(textOf(rule, 'condition', Infinity), choices.columns) };
    const others = saved?.['enabled'] === true ? await readOthers(visit.query, id) : [];
    const activity = saved && (await activityOf(visit.query, 'rules', id));
    const notice = ownValue(NOTICES, textOf(req.query, 'done'));
    await showForm(visit, form, { others, notice, activity });
  });

  const submit = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const id = textOf(values, 'id');
    const action = textOf(values, 'action');
    const rule = { ...inputOf(values), ruleid: id };
    const choices = await readRuleChoices(query, rule);
    const condition = readCondition(values);
    const submitted: RuleForm = { rule, choices, condition };
    const changed = changedBy(action, condition, choices.columns);
    if (changed) {
      await showForm(visit, { ...submitted, condition: changed }, { isUnsaved: true });
      return;
    }
    try {
      if (action === 'delete') {
        await rules.remove(visit, id);
        res.redirect(303, linkTo(RULES, { done: 'deleted' }));
        return;
      }
      const input = await completeInput(query, submitted, action === 'try' ? TRIED : undefined);
      if (action === 'try') {
        const trial = await tryRule(query, { id, input });
        await showForm(visit, submitted, { isUnsaved: true, trial });
        return;
      }
      const saved = id === '' ? await rules.create(visit, input) : await rules.update(visit, id, input);
      const others = input['enabled'] === true ? await readOthers(query, String(saved)) : [];
      res.redirect(
        303,
        others.length === 0
          ? linkTo(RULES, { done: 'saved' })
          : linkTo(`${RULES}/edit`, { id: String(saved), done: 'saved' }),
      );
    } catch (error) {
      await showForm(visit, submitted, {
        isUnsaved: true,
        problem: problemOf(error),
        isTrial: action === 'try',
      });
    }
  });

  const preview = form(
    async ({ values, query, show }) => {
      const title = 'Preview';
      try {
        const rule = inputOf(values);
        const choices = await readRuleChoices(query, rule);
        const input = await completeInput(query, { rule, choices, condition: readCondition(values) });
        const id = textOf(values, 'id');
        const found = await previewRule(query, { id, input }, textOf(values, 'eventid'));
        await show('preview', { title, ...(found ? toShown(found) : {}) }, { framed: true });
      } catch (error) {
        const problem = problemOf(error);
        await show('preview', { title }, { framed: true, problem });
      }
    },
    { framed: true },
  );

  return Router()
    .get(RULES, list)
    .get(`${RULES}/edit`, edit)
    .post(`${RULES}/edit`, submit)
    .post(`${RULES}/preview`, preview);
}

/** A new rule, prefilled from the link on an email's page, and with the role of the newest rule, or one's own. */
async function newRule({ query, session }: Visit, given: Values): Promise<Values> {
  const { email_rule } = await query<{ email_rule: readonly { readonly query_roleid: Id }[] }>(NEWEST);
  const [type, table, operation] = ['type', 'table', 'operation'].map((name) => textOf(given, name));
  return {
    // Not the kind of change, which is often chosen anew in the form.
    name: type && table ? `${type}: ${table}` : '',
    enabled: true,
    operations: operation ? [operation] : [],
    targets: table ? [table] : [],
    email_type: type,
    query_roleid: email_rule[0]?.query_roleid ?? session.principal.roleid,
  };
}

interface RuleForm {
  readonly rule: Values;
  readonly choices: RuleChoices;
  readonly condition: ConditionInput;
}

interface RuleChoices {
  readonly types: readonly object[];
  /** All that have events. */
  readonly tables: readonly string[];
  readonly roles: Choices['roles'];
  /** Those of the rule's tables. */
  readonly columns: FormColumns;
}

async function readRuleChoices(query: Visit['query'], rule: Values): Promise<RuleChoices> {
  const { email_types, Utility } = await query<{
    email_types: readonly object[];
    Utility: { readonly tables: readonly { readonly name: string; readonly writable: boolean }[] };
  }>(CHOICES);
  const { roles } = await readChoices(query);
  const tables = Utility.tables.filter(({ writable }) => writable).map(({ name }) => name);
  const targets = rule['targets'] as readonly string[];
  const known = new Set(tables);
  const columns = targets.every((name) => known.has(name)) ? await readColumns(query, targets) : new Map();
  return { types: email_types, tables, roles, columns };
}

/** What a rule has to have to be tried. */
const TRIED: readonly string[] = ['targets', 'operations'];

/**
 * The input with the condition. If its rows can't be an expression, throws AppError for them and all else that is wrong.
 * @param needed the fields that matter; all by default
 */
async function completeInput(
  query: Visit['query'],
  { rule, choices, condition }: RuleForm,
  needed?: readonly string[],
): Promise<Values> {
  const { ruleid, ...input } = rule;
  const wrong = condition.asText ? [] : rowProblems(condition, choices.columns);
  if (wrong.length === 0) return { ...input, condition: expressionOf(condition, choices.columns) };
  const id = String((ruleid as Id | undefined) ?? '');
  const others = await readProblems(query, { id, input: { ...input, condition: null } });
  const found = [...others.filter(({ field }) => needed?.includes(field) ?? true), ...wrong];
  throw new AppError('BAD_USER_INPUT', 'The rule is not complete.', {
    details: {
      fields: found.map(({ field }) => field),
      messages: found.map(({ message }) => message),
      hints: found.map(({ hint }) => hint),
    },
  });
}

interface Shown {
  readonly isUnsaved?: boolean;
  readonly problem?: AppError;
  readonly isTrial?: boolean;
  readonly notice?: string | undefined;
  readonly others?: readonly object[];
  readonly trial?: object;
  /** What it sent in 30 days. */
  readonly activity?: object | undefined;
}

async function showForm(
  { show }: Visit,
  { rule, choices, condition }: RuleForm,
  { problem, ...shown }: Shown,
): Promise<void> {
  const targets = rule['targets'] as readonly string[];
  const chosen = rule['operations'] as readonly string[];
  const problems = problem ? problemsOf(problem, condition, choices.columns) : [];
  await show(
    'rule',
    {
      title: rule['ruleid'] ? (rule['name'] as string) : 'New rule',
      rule: { ...rule, query_roleid: String((rule['query_roleid'] as Id | null | undefined) ?? '') },
      operations: OPERATIONS.map((name) => ({
        name,
        label: ownValue(HAPPENS, name) ?? name,
        chosen: chosen.includes(name),
      })),
      types: choices.types,
      tables: tablesOf(choices.tables, targets),
      roles: choices.roles,
      condition: conditionView(condition, choices.columns, problems),
      targets,
      problems,
      ...shown,
    },
    { problem, script: 'rule.js' },
  );
}

function problemsOf(
  problem: AppError,
  condition: ConditionInput,
  columns: FormColumns,
): readonly FormProblem[] {
  if (condition.asText) return formProblems(problem, WORDS);
  // Those of rows are known by the rows, and named after their fields.
  const others = formProblems(problem, WORDS).filter(({ field }) => !field.startsWith('if_'));
  return [...others.map(withoutPosition), ...rowProblems(condition, columns)];
}

/** Selected tables first, even if they no longer exist. */
function tablesOf(tables: readonly string[], chosen: readonly string[]): readonly object[] {
  const isChosen = new Set(chosen);
  const others = tables.filter((name) => !isChosen.has(name));
  return [
    ...chosen.map((name) => ({ name, chosen: true })),
    ...others.map((name) => ({ name, chosen: false })),
  ];
}

const NOTICES: Readonly<Record<string, string>> = { saved: 'Saved.', deleted: 'Deleted.' };

const WORDS: Readonly<Record<string, FieldWords>> = {
  name: { label: 'Name', missing: 'Give the rule a name.', taken: 'There is already a rule with this name.' },
  targets: { label: 'When rows of', missing: 'Choose a table at least.' },
  operations: { label: 'are', missing: 'Choose what happens to a row.' },
  condition: { label: 'Only if' },
  email_type: { label: 'Send', missing: 'Choose the email to send.' },
  query_roleid: { label: 'Read data as', missing: 'Choose whose rights the email reads with.' },
};

function inputOf(values: Values): Values {
  const role = textOf(values, 'query_roleid');
  return {
    name: textOf(values, 'name'),
    targets: checkedOf(values, 'of_'),
    operations: OPERATIONS.filter((name) => ownValue(values, `on_${name}`) !== undefined),
    email_type: textOf(values, 'email_type'),
    query_roleid: role === '' ? null : role,
    delivery: textOf(values, 'delivery') || null,
    enabled: values['enabled'] !== undefined,
  };
}

import { Router } from 'express';
import { OPERATIONS } from '../../control/email/checkEmailRule.js';
import { emailRule } from '../../control/objects/emailRule.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { readChoices } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { formProblems, type FieldWords } from './formProblems.js';
import { checkedOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { HAPPENS } from './words.js';

const RULES = `${CONSOLE}/rules`;

const CHOICES =
  '{ email_types(ordering: ["email_type"], limit: 200) { email_type } Utility { tables { name writable } } }';
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
    const rule = await rules.find(visit, `ruleid = ${/^\d{1,18}$/.test(id) ? id : '0'}`);
    if (!rule && id !== '') throw new AppError('NOT_FOUND', 'There is no such rule.');
    await showForm(visit, rule ?? newRule(req.query));
  });

  const submit = form(async (visit, _req, res) => {
    const { values } = visit;
    const id = textOf(values, 'id');
    const input = inputOf(values);
    const isDeleted = values['action'] === 'delete';
    try {
      if (isDeleted) await rules.remove(visit, id);
      else if (id === '') await rules.create(visit, input);
      else await rules.update(visit, id, input);
      res.redirect(303, linkTo(RULES, { done: isDeleted ? 'deleted' : 'saved' }));
    } catch (error) {
      await showForm(visit, { ...input, ruleid: id }, problemOf(error));
    }
  });

  return Router().get(RULES, list).get(`${RULES}/edit`, edit).post(`${RULES}/edit`, submit);
}

/** A new rule, prefilled from the link on an email's page. */
function newRule(query: Values): Values {
  const table = textOf(query, 'table');
  return {
    enabled: true,
    operations: [],
    targets: table === '' ? [] : [table],
    email_type: textOf(query, 'type'),
  };
}

async function showForm({ query, show }: Visit, rule: Values, problem?: AppError): Promise<void> {
  const { email_types, Utility } = await query<{
    email_types: readonly object[];
    Utility: { readonly tables: readonly { readonly name: string; readonly writable: boolean }[] };
  }>(CHOICES);
  const { roles } = await readChoices(query);
  const tables = Utility.tables.filter(({ writable }) => writable).map(({ name }) => name);
  const targets = rule['targets'] as readonly string[];
  const chosen = rule['operations'] as readonly string[];
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
      types: email_types,
      tables: tablesOf(tables, targets),
      roles,
      problems: problem ? formProblems(problem, WORDS) : [],
      isUnsaved: problem !== undefined,
    },
    { problem },
  );
}

/** Selected tables first, even if they no longer exist. */
function tablesOf(tables: readonly string[], chosen: readonly string[]): readonly object[] {
  const others = tables.filter((name) => !chosen.includes(name));
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
    condition: textOf(values, 'condition', Infinity),
    email_type: textOf(values, 'email_type'),
    query_roleid: role === '' ? null : role,
    delivery: textOf(values, 'delivery') || null,
    enabled: values['enabled'] !== undefined,
  };
}

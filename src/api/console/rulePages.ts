import { Router } from 'express';
import { OPERATIONS } from '../../control/email/checkEmailRule.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { readChoices } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { checkedOf, numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';

const RULES = `${CONSOLE}/rules`;

const ROW = 'ruleid name operations targets email_type query_roleid condition enabled delivery';
const LIST = `query ($filter: String, $limit: Int, $offset: Int) {
  email_rule(filter: $filter, ordering: ["name"], limit: $limit, offset: $offset) { ${ROW} }
}`;
const CHOICES =
  '{ email_types(ordering: ["email_type"], limit: 200) { email_type } Utility { tables { name writable } } }';
const CREATE = 'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }';
const UPDATE =
  'mutation ($id: ID!, $input: email_ruleInput) { update_email_rule(ruleid: $id, input: $input) { ruleid } }';
const DELETE = 'mutation ($id: ID!) { delete_email_rule(ruleid: $id) { ruleid } }';

/** Pages for email rules: which changes send which email, shown as sentences. */
export function rulePages({ page, form }: PageHandlers): Router {
  const list = page(async ({ query, show }, req) => {
    const from = numberOf(req.query, 'from');
    const { email_rule } = await query<{ email_rule: readonly Values[] }>(LIST, {
      filter: '',
      limit: ROWS_QUERIED,
      offset: from,
    });
    const { roles } = await readChoices(query);
    const nameOf = (roleid: unknown): string =>
      roles.find((role) => role.roleid === String(roleid))?.label ?? `role ${String(roleid)}`;
    const { shown, ...links } = pageOf(email_rule, from, RULES);
    await show('rules', {
      title: 'Rules',
      rules: shown.map((rule) => ({ ...rule, role: nameOf(rule['query_roleid']) })),
      ...links,
    });
  });

  const edit = page(async (visit, req) => {
    const id = textOf(req.query, 'id');
    const filter = `ruleid = ${literal(/^\d{1,18}$/.test(id) ? id : '0')}`;
    const { email_rule } = await visit.query<{ email_rule: readonly Values[] }>(LIST, {
      filter,
      limit: 1,
      offset: 0,
    });
    const [rule] = email_rule;
    if (!rule && id !== '') throw new AppError('NOT_FOUND', 'There is no such rule.');
    await showForm(visit, rule ?? newRule(req.query));
  });

  const submit = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const id = textOf(values, 'id');
    const input = inputOf(values);
    try {
      if (values['action'] === 'delete') await query(DELETE, { id });
      else await query(id === '' ? CREATE : UPDATE, { input, ...(id === '' ? {} : { id }) });
      res.redirect(303, RULES);
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
      operations: OPERATIONS.map((name) => ({ name, chosen: chosen.includes(name) })),
      types: email_types,
      tables: tablesOf(tables, targets),
      roles,
      problemLabel: problem && labelOf(problem),
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

/** The label of the form field that an error belongs to. */
function labelOf({ code, details }: AppError): string | undefined {
  const given = typeof details['field'] === 'string' ? details['field'] : '';
  const field = code.startsWith('FILTER_') ? 'condition' : given;
  return ownValue(LABELS, /^\w+/.exec(field)?.[0] ?? '');
}

const LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  targets: 'When rows of',
  operations: 'have an',
  condition: 'and this is true',
  email_type: 'send',
  query_roleid: 'with the permissions of',
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

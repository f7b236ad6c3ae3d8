import { Router } from 'express';
import { policyRule } from '../../control/objects/policyRule.js';
import { AppError } from '../../foundation/errors.js';
import type { Role } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { literal } from './deliveryFilter.js';
import { checkedOf, itemsOf, numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const POLICIES = `${CONSOLE}/policies`;
/** Maximum classes and roles that a page shows by name. */
const MAX_NAMES = 200;
/** The capabilities that rules can grant. */
const GRANTED = `package in ('data', 'files')`;

const NAMES = `query ($roles: String, $classes: String, $limit: Int) {
  role(filter: $roles, limit: $limit) { roleid login name }
  role_class(filter: $classes, limit: $limit) { classid name }
}`;
const CHOICES = `query ($capabilities: String) {
  capability(filter: $capabilities, ordering: ["capability"]) { capability description }
  Utility { tables { name } }
}`;

interface Rule {
  readonly ruleid?: Id;
  readonly name: string;
  readonly capabilities: readonly string[];
  readonly targets: readonly string[];
  readonly roles: readonly Id[];
  readonly classes: readonly Id[];
  readonly filter: string | null;
}

interface Names {
  readonly role: readonly Role[];
  readonly role_class: readonly { readonly classid: Id; readonly name: string }[];
}

const rules = new ObjectRequests<Rule>(policyRule, 'ruleid name capabilities targets roles classes filter', [
  'name',
]);

const NEW_RULE: Rule = {
  name: '',
  capabilities: ['select'],
  targets: [],
  roles: [],
  classes: [],
  filter: '',
};

/** Pages for policy rules: which rows of which tables roles may read and write. */
export function policyPages({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const { shown, ...links } = await rules.page(visit, POLICIES, req.query);
    const nameOf = await namesOf(visit, shown);
    await visit.show('policies', {
      title: 'Policy rules',
      rules: shown.map((rule) => ({ ...rule, who: whoOf(rule, nameOf) })),
      ...links,
    });
  });

  const edit = page(async (visit, req) => {
    const id = numberOf(req.query, 'id');
    const roleid = numberOf(req.query, 'roleid');
    const made: Rule = { ...NEW_RULE, roles: roleid === 0 ? [] : [roleid] };
    const rule = id === 0 ? made : await rules.find(visit, `ruleid = ${id}`);
    if (!rule) throw new AppError('NOT_FOUND', 'There is no such rule.');
    const nameOf = await namesOf(visit, [rule]);
    await showForm(visit, {
      ...rule,
      logins: rule.roles.map((roleid) => nameOf.role(roleid)).join(', '),
      classNames: rule.classes.map((classid) => nameOf.class(classid)).join(', '),
    });
  });

  const submit = form(async (visit, _req, res) => {
    const { values } = visit;
    const id = textOf(values, 'id');
    try {
      if (values['action'] === 'delete') await rules.remove(visit, id);
      else if (id === '') await rules.create(visit, await inputOf(visit, values));
      else await rules.update(visit, id, await inputOf(visit, values));
      res.redirect(303, POLICIES);
    } catch (error) {
      const written = {
        ruleid: id,
        name: textOf(values, 'name'),
        capabilities: checkedOf(values, 'may_'),
        targets: itemsOf(values, 'targets'),
        filter: textOf(values, 'filter', Infinity),
        logins: textOf(values, 'logins', Infinity),
        classNames: textOf(values, 'class_names', Infinity),
      };
      await showForm(visit, written, problemOf(error));
    }
  });

  return Router().get(POLICIES, list).get(`${POLICIES}/edit`, edit).post(`${POLICIES}/edit`, submit);
}

interface NameOf {
  readonly role: (roleid: Id) => string;
  readonly class: (classid: Id) => string;
}

/** The names of the roles and classes that the rules refer to. */
async function namesOf({ query }: Visit, rules: readonly Rule[]): Promise<NameOf> {
  const among = (column: string, ids: readonly Id[]): string =>
    ids.length === 0
      ? 'false'
      : `${column} in (${[...new Set(ids.map(String))].slice(0, MAX_NAMES).join(', ')})`;
  const { role, role_class } = await query<Names>(NAMES, {
    roles: among(
      'roleid',
      rules.flatMap(({ roles }) => roles),
    ),
    classes: among(
      'classid',
      rules.flatMap(({ classes }) => classes),
    ),
    limit: MAX_NAMES,
  });
  const labels = new Map(role.map((each) => [String(each.roleid), labelOf(each)]));
  const classes = new Map(role_class.map(({ classid, name }) => [String(classid), name]));
  return {
    role: (roleid) => labels.get(String(roleid)) ?? String(roleid),
    class: (classid) => classes.get(String(classid)) ?? String(classid),
  };
}

/** What the form takes for a role: its login or, as many roles have none, "name (7)", of which only the number counts. */
function labelOf({ roleid, login, name }: Role): string {
  return login ?? `${(name ?? 'role').replaceAll(',', ' ')} (${String(roleid)})`;
}

/** The number in "7" or "name (7)". */
function roleidIn(item: string): string | undefined {
  return /^(\d{1,18})$|\((\d{1,18})\)$/.exec(item)?.slice(1).find(Boolean);
}

function whoOf({ roles, classes }: Rule, nameOf: NameOf): string {
  if (roles.length === 0 && classes.length === 0) return 'Every role';
  return [
    ...roles.map((roleid) => nameOf.role(roleid)),
    ...classes.map((classid) => `class ${nameOf.class(classid)}`),
  ].join(', ');
}

async function showForm(
  { query, show }: Visit,
  rule: Omit<Rule, 'roles' | 'classes'> & { readonly logins: string; readonly classNames: string },
  problem?: AppError,
): Promise<void> {
  const { capability, Utility } = await query<{
    capability: readonly { readonly capability: string }[];
    Utility: { readonly tables: readonly { readonly name: string }[] };
  }>(CHOICES, { capabilities: GRANTED });
  await show(
    'policy',
    {
      title: rule.ruleid ? rule.name : 'New policy rule',
      rule: { ...rule, targets: rule.targets.join(', ') },
      capabilities: capability.map((each) => ({
        ...each,
        chosen: rule.capabilities.includes(each.capability),
      })),
      tables: Utility.tables,
    },
    { problem },
  );
}

/** Throws AppError UNKNOWN_ROLE, BAD_USER_INPUT. */
async function inputOf(visit: Visit, values: Values): Promise<Values> {
  const [logins, classNames] = [itemsOf(values, 'logins'), itemsOf(values, 'class_names')];
  const among = (column: string, names: readonly string[]): string =>
    names.length === 0 ? 'false' : `${column} in (${names.map(literal).join(', ')})`;
  const roleids = logins.flatMap((item) => roleidIn(item) ?? []);
  const { role, role_class } = await visit.query<Names>(NAMES, {
    roles: `deleted = false and (${among('login', logins)} or ${among('roleid', roleids)})`,
    classes: among('name', classNames),
    limit: MAX_NAMES,
  });
  const byLogin = new Map(role.map(({ roleid, login }) => [login, roleid]));
  const byId = new Map(role.map(({ roleid }) => [String(roleid), roleid]));
  const classes = new Map(role_class.map(({ classid, name }) => [name, classid]));
  return {
    name: textOf(values, 'name'),
    capabilities: checkedOf(values, 'may_'),
    targets: itemsOf(values, 'targets'),
    filter: textOf(values, 'filter', Infinity) || null,
    roles: logins.map((item) => {
      const roleid = byLogin.get(item) ?? byId.get(roleidIn(item) ?? '');
      if (roleid === undefined)
        throw new AppError('UNKNOWN_ROLE', `There is no role with the login or number "${item}".`, {
          hint: 'See Roles for the logins and numbers.',
        });
      return roleid;
    }),
    classes: classNames.map((name) => {
      const classid = classes.get(name);
      if (classid === undefined) throw new AppError('BAD_USER_INPUT', `There is no class "${name}".`);
      return classid;
    }),
  };
}

import { Router } from 'express';
import { role as roleObject } from '../../control/objects/role.js';
import { AppError } from '../../foundation/errors.js';
import type { Role } from './choices.js';
import { ownValue } from '../../foundation/ownValue.js';
import { CONSOLE } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { checkedOf, numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { sortingOf } from './sorting.js';

const ROLES = `${CONSOLE}/roles`;
/** Limit of the form; use GraphQL to assign roles to more classes. */
const MAX_CLASSES = 200;

const RIGHTS = `query ($roleid: Int!, $invited: String) {
  policy_rule(ordering: ["name"], limit: 1000) { ruleid name capabilities targets filter }
  Utility { role_rights(roleid: $roleid) { admin capabilities classes rules } }
  invitation(filter: $invited, limit: 1) { expires }
}`;
const CHOICES = `query ($limit: Int) {
  capability(ordering: ["package", "capability"]) { capability description }
  role_class(ordering: ["name"], limit: $limit) { classid name }
}`;

interface Class {
  readonly classid: Id;
}

interface FullRole extends Role {
  readonly parent?: object | null;
  readonly capabilities: readonly string[];
  readonly classes: readonly Class[];
}

interface Rule {
  readonly ruleid: Id;
  readonly capabilities: readonly string[];
}

interface Rights {
  readonly capabilities: readonly string[];
  readonly rules: readonly Id[];
}

interface Choices {
  readonly capability: readonly { readonly capability: string }[];
  readonly role_class: readonly Class[];
}

const roles = new ObjectRequests<FullRole>(
  roleObject,
  'roleid login name capabilities classes { classid name } parent { roleid login }',
  ['login', 'roleid'],
);

/** What the list is sorted by. */
const COLUMNS = {
  login: { label: 'Login', up: ['login', 'roleid'], down: ['login desc', 'roleid desc'] },
  name: { label: 'Name', up: ['name', 'roleid'], down: ['name desc', 'roleid desc'] },
  number: { label: 'Number', up: ['roleid'], down: ['roleid desc'] },
};

/** Pages for the tenant's roles: who may sign in, what each may do and why. */
export function rolePages({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const search = textOf(req.query, 'search');
    const part = literal(containing(search));
    const filter = `deleted = false${search === '' ? '' : ` and (login ilike ${part} or name ilike ${part})`}`;
    const { ordering, heads, sort } = sortingOf(COLUMNS, req.query, ROLES, { search });
    const { shown, ...links } = await roles.page(visit, ROLES, req.query, {
      filter,
      ordering,
      search: { search, sort },
    });
    await visit.show('roles', { title: 'Roles', search, sort, heads, roles: shown, ...links });
  });

  const edit = page(async (visit, req) => {
    const id = numberOf(req.query, 'id');
    if (id === 0) await showForm(visit, NEW_ROLE);
    else await showRole(visit, id, ownValue(NOTICES, textOf(req.query, 'done')));
  });

  const submit = form(async (visit, _req, res) => {
    const { values } = visit;
    const id = numberOf(values, 'id');
    try {
      if (values['action'] === 'delete') {
        await roles.remove(visit, String(id));
        res.redirect(303, ROLES);
        return;
      }
      const input = inputOf(values, await readChoices(visit));
      const saved = await (id === 0 ? roles.create(visit, input) : roles.update(visit, String(id), input));
      res.redirect(303, `${ROLES}/edit?id=${saved}&done=saved`);
    } catch (error) {
      const written = {
        roleid: id,
        login: textOf(values, 'login'),
        name: textOf(values, 'name'),
        capabilities: checkedOf(values, 'may_'),
        classes: [],
      };
      await showForm(visit, written, { problem: problemOf(error), inClasses: checkedOf(values, 'in_') });
    }
  });

  return Router().get(ROLES, list).get(`${ROLES}/edit`, edit).post(`${ROLES}/edit`, submit);
}

const NOTICES: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  ended: 'The link no longer works.',
};
const NEW_ROLE: FullRole = { roleid: 0, login: '', name: '', capabilities: ['login'], classes: [] };

async function showRole(visit: Visit, roleid: number, notice?: string): Promise<void> {
  const { roleid: ownRoleid, isRoot } = visit.session.principal;
  const { policy_rule, Utility, invitation } = await visit.query<{
    policy_rule: readonly Rule[];
    Utility: { readonly role_rights: Rights };
    invitation: readonly object[];
  }>(RIGHTS, { roleid, invited: `roleid = ${roleid}` });
  const found = await roles.find(visit, `roleid = ${roleid}`);
  if (!found) throw new AppError('NOT_FOUND', 'There is no such role.');
  const { role_rights: rights } = Utility;
  const isTenantRoot = found.parent === null;
  await showForm(visit, found, {
    notice,
    rights: { ...rights, rules: rightsBy(policy_rule, rights) },
    invitation: invitation[0],
    mayChange: isRoot || !isTenantRoot,
    mayInvite:
      found.login !== null &&
      roleid !== ownRoleid &&
      !isTenantRoot &&
      rights.capabilities.some((name) => name === 'login' || name === 'admin'),
    inClasses: found.classes.map(({ classid }) => String(classid)),
  });
}

/** What each rule grants in effect: only what the role also has the capability for. */
function rightsBy(rules: readonly Rule[], { rules: granted, capabilities }: Rights): readonly object[] {
  const holding = new Set(granted.map(String));
  return rules
    .filter(({ ruleid }) => holding.has(String(ruleid)))
    .map((rule) => ({
      ...rule,
      may: rule.capabilities.filter((name) => capabilities.includes(name)),
      lacks: rule.capabilities.filter((name) => !capabilities.includes(name)),
    }));
}

async function readChoices({ query }: Visit): Promise<Choices> {
  const { capability, role_class } = await query<Choices>(CHOICES, { limit: MAX_CLASSES + 1 });
  return { capability, role_class: role_class.length > MAX_CLASSES ? [] : role_class };
}

async function showForm(
  visit: Visit,
  role: FullRole,
  more: {
    readonly notice?: string | undefined;
    readonly rights?: object;
    readonly invitation?: object | undefined;
    /** Only the root role changes itself. */
    readonly mayChange?: boolean;
    readonly mayInvite?: boolean;
    readonly inClasses?: readonly string[];
    readonly problem?: AppError;
  } = {},
): Promise<void> {
  const { capability, role_class } = await readChoices(visit);
  const { inClasses = [], problem, mayChange = true, ...shown } = more;
  const isOwn = Number(role.roleid) === visit.session.principal.roleid;
  await visit.show(
    'role',
    {
      title: role.roleid === 0 ? 'New role' : (role.login ?? role.name ?? `Role ${role.roleid}`),
      role,
      ...shown,
      mayChange,
      isOwn,
      mayDelete: role.roleid !== 0 && !isOwn,
      capabilities: capability.map((each) => ({
        ...each,
        chosen: role.capabilities.includes(each.capability),
      })),
      classes: role_class.map((each) => ({ ...each, chosen: inClasses.includes(String(each.classid)) })),
    },
    { problem },
  );
}

/** An empty password means no change, and an empty current one that it is not given. */
function inputOf(values: Values, { role_class }: Choices): Values {
  const { secret, current_password } = values;
  return {
    login: textOf(values, 'login') || null,
    name: textOf(values, 'name') || null,
    capabilities: checkedOf(values, 'may_'),
    ...(role_class.length === 0 ? {} : { classes: checkedOf(values, 'in_') }),
    ...(typeof secret === 'string' && secret !== '' ? { password: secret } : {}),
    ...(typeof current_password === 'string' && current_password !== '' ? { current_password } : {}),
  };
}

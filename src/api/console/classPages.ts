import { Router } from 'express';
import { roleClass } from '../../control/objects/roleClass.js';
import { holds, requireCapability } from '../../control/permissions.js';
import { CLASS_CAPABILITIES } from '../../control/roles/classMembers.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { Role } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { formProblems, type FieldWords } from './formProblems.js';
import { checkedOf, numberOf, problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const CLASSES = `${CONSOLE}/classes`;
/** Maximum members that a page shows. */
const MAX_MEMBERS = 100;

const CAPABILITIES = '{ capability(ordering: ["package", "capability"]) { capability description } }';

/** What the form is about. */
interface Fields {
  readonly name: string;
  readonly inherit: string;
  readonly capabilities: readonly string[];
  readonly allow_signup: boolean;
}

interface RoleClass extends Fields {
  readonly classid: Id;
  readonly members: readonly Role[];
}

interface Capability {
  readonly capability: string;
}

const classes = new ObjectRequests<RoleClass>(
  roleClass,
  `classid name inherit capabilities allow_signup
   members(ordering: ["login", "name", "roleid"], limit: ${MAX_MEMBERS + 1}) { roleid login name }`,
  ['name'],
);

const NEW_CLASS: Fields = { name: '', inherit: 'none', capabilities: [], allow_signup: false };
const NOTICES: Readonly<Record<string, string>> = { saved: 'Saved.', deleted: 'Deleted.' };

/** Who is in a class besides its members. */
const INHERITED: Readonly<Record<string, string>> = {
  none: 'Nobody else',
  creation: 'Roles that are created below a member: they start as members',
  full: 'All roles below a member',
};

const WORDS: Readonly<Record<string, FieldWords>> = {
  name: {
    label: 'Name',
    missing: 'Give the class a name.',
    taken: 'There is already a class with this name.',
  },
  inherit: { label: 'Who is in it besides its members' },
  capabilities: { label: 'What it lets its members do' },
  allow_signup: { label: 'Anyone may join it by signing up' },
};

/** Pages for classes: groups of roles, which policy rules can name. */
export function classPages({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const { shown, ...links } = await classes.page(visit, CLASSES, req.query);
    const capabilities = await readCapabilities(visit);
    await visit.show('classes', {
      title: 'Classes',
      notice: ownValue(NOTICES, textOf(req.query, 'done')),
      mayCreate: holds(visit.session.principal, 'create_class'),
      classes: shown.map((each) => inWords(visit, each, capabilities)),
      ...links,
    });
  });

  const edit = page((visit, req) => showClass(visit, numberOf(req.query, 'id')));

  const submit = form(async (visit, _req, res) => {
    const { values } = visit;
    const id = numberOf(values, 'id');
    try {
      if (values['action'] === 'delete') await classes.remove(visit, String(id));
      else if (id === 0) await classes.create(visit, inputOf(values, mayDo(visit.session.principal, id)));
      else await classes.update(visit, String(id), inputOf(values, mayDo(visit.session.principal, id)));
      res.redirect(303, linkTo(CLASSES, { done: values['action'] === 'delete' ? 'deleted' : 'saved' }));
    } catch (error) {
      await showClass(visit, id, problemOf(error));
    }
  });

  return Router().get(CLASSES, list).get(`${CLASSES}/edit`, edit).post(`${CLASSES}/edit`, submit);
}

/** What a role may do with a class (0: a new one), as far as that doesn't depend on who else is in it. */
interface MayDo {
  readonly save: boolean;
  readonly delete: boolean;
  /** What membership gives, and to whom: only those who have it themselves. */
  readonly change: boolean;
  readonly allowSignup: boolean;
}

function mayDo(principal: Principal, id: number): MayDo {
  const { isAdmin } = principal;
  const save = holds(principal, id === 0 ? 'create_class' : 'update_class');
  const isIn = isAdmin || principal.classes.includes(id);
  return {
    save,
    delete: id !== 0 && isIn && holds(principal, 'delete_class'),
    change: save && (id === 0 || isIn),
    allowSignup: save && isAdmin,
  };
}

/** The page of a class, or of a new one (0), with what was written if that was wrong. */
async function showClass(visit: Visit, id: number, problem?: AppError): Promise<void> {
  const { values, session, show } = visit;
  const saved = id === 0 ? undefined : await classes.find(visit, `classid = ${id}`);
  if (id === 0) requireCapability(session.principal, 'create_class');
  else if (!saved) throw new AppError('NOT_FOUND', 'There is no such class.');
  const capabilities = await readCapabilities(visit);
  const mayClass = mayDo(session.principal, id);
  const fields = { ...NEW_CLASS, ...saved, ...(problem ? inputOf(values, mayClass) : {}) };
  await show(
    'class',
    {
      title: saved?.name ?? 'New class',
      id,
      fields,
      saved: saved && inWords(visit, saved, capabilities),
      mayClass,
      inherits: Object.entries(INHERITED).map(([name, label]) => ({
        name,
        label,
        chosen: name === fields.inherit,
      })),
      capabilities: capabilities
        .filter(({ capability }) => holds(session.principal, capability))
        .map((each) => ({ ...each, chosen: fields.capabilities.includes(each.capability) })),
      problems: problem ? formProblems(problem, WORDS) : [],
    },
    { problem },
  );
}

/** Those that a class can give. */
async function readCapabilities({ query }: Visit): Promise<readonly Capability[]> {
  const { capability } = await query<{ capability: readonly Capability[] }>(CAPABILITIES);
  return capability.filter((each) => CLASS_CAPABILITIES.includes(each.capability));
}

function inWords({ session }: Visit, saved: RoleClass, capabilities: readonly Capability[]): object {
  const members = saved.members.slice(0, MAX_MEMBERS);
  const count = `${saved.members.length > MAX_MEMBERS ? 'More than ' : ''}${members.length} ${members.length === 1 ? 'member' : 'members'}`;
  return {
    ...saved,
    members,
    count: holds(session.principal, 'view_role') ? count : `${count} that you may see`,
    gives: capabilities.filter(({ capability }) => saved.capabilities.includes(capability)),
  };
}

/** Only what the form offers. */
function inputOf(values: Values, { change, allowSignup }: MayDo): Partial<Fields> {
  return {
    name: textOf(values, 'name', Infinity),
    ...(change ? { inherit: textOf(values, 'inherit'), capabilities: checkedOf(values, 'may_') } : {}),
    ...(allowSignup ? { allow_signup: values['allow_signup'] !== undefined } : {}),
  };
}

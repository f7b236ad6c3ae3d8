import type { ControlContext } from '../controlContext.js';
import { AppError } from '../../foundation/errors.js';
import { badInput } from '../derive/badInput.js';
import { requireKnownCapabilities, requireKnownRoles } from '../derive/references.js';
import { checkTemplates } from '../email/checkTemplates.js';
import { isIn } from './groupClasses.js';
import { denied, holds } from '../permissions.js';
import { ANONYMOUS_LOGIN, readPrincipal, type Principal } from '../../db/roles/principal.js';

const MAX_DOMAINS = 100;
/** Also checked by the table. */
const MAX_PATH_CHARACTERS = 200;
const MAX_SEATS = 1_000_000;

/** What is checked of a provisioning. */
interface Provisioning {
  readonly parentid: number;
  readonly capabilities: readonly string[];
  readonly classes: readonly number[];
  readonly name: string | null;
  readonly login: string | null;
  readonly scope: string | null;
  readonly required_claim: string | null;
  readonly required_value: string | null;
  readonly seats: number | null;
  readonly groups_claim: string | null;
}

/** Throws AppError UNKNOWN_ROLE, BAD_USER_INPUT. */
export async function requireParentRole(context: ControlContext, parentid: number): Promise<void> {
  await requireKnownRoles(context, parentid, 'parentid');
  const parent = await loadParent(context, parentid);
  if (parent.login === ANONYMOUS_LOGIN)
    throw badInput('parentid', 'Anonymous clients have no roles below them.');
}

/** Throws AppError BAD_USER_INPUT, UNKNOWN_CAPABILITY, PERMISSION_DENIED (more than the parent holds), TEMPLATE_SYNTAX. */
export async function checkProvisioning(context: ControlContext, row: Provisioning): Promise<void> {
  await requireKnownCapabilities(context, row.capabilities);
  const parent = await loadParent(context, row.parentid);
  const capability = row.capabilities.find((name) => !holds(parent, name));
  if (capability !== undefined)
    throw new AppError('PERMISSION_DENIED', `Role ${row.parentid} does not have "${capability}".`, {
      details: { field: 'capabilities', capability },
      hint: 'Give it to that role first: nobody gets more than the role that theirs is below.',
    });
  const isHeld = isIn(parent);
  const classid = row.classes.find((id) => !isHeld(id));
  if (classid !== undefined)
    throw denied(`Role ${row.parentid} is not in class ${classid}.`, { field: 'classes', classid });
  if ((row.required_claim === null) !== (row.required_value === null))
    throw badInput('required_claim', 'required_claim and required_value go together.');
  for (const field of ['groups_claim', 'required_claim'] as const) {
    if (Array.from(row[field] ?? '').length > MAX_PATH_CHARACTERS)
      throw badInput(field, `${field} has at most ${MAX_PATH_CHARACTERS} characters.`);
  }
  if (row.seats !== null && (row.seats < 1 || row.seats > MAX_SEATS))
    throw badInput('seats', `seats is from 1 to ${MAX_SEATS}.`);
  if (row.scope !== null && !/^[\x21\x23-\x5B\x5D-\x7E]+( [\x21\x23-\x5B\x5D-\x7E]+)*$/.test(row.scope))
    throw badInput('scope', 'scope must be names, separated by single spaces.');
  const templates = (['name', 'login'] as const).flatMap((name) => {
    const source = row[name];
    return source === null ? [] : [{ name, source, syntax: 'jinja2', mode: 'text' } as const];
  });
  await checkTemplates(context, templates, {});
}

/** In lower case. Throws AppError BAD_USER_INPUT. */
export function readDomains(given: readonly string[], field: string): readonly string[] {
  if (given.length > MAX_DOMAINS) throw badInput(field, `${field} has at most ${MAX_DOMAINS} domains.`);
  return given.map((domain) => {
    if (!/^(?=.{1,253}$)[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63})+$/i.test(domain))
      throw badInput(field, `"${domain.slice(0, 100)}" is not a domain, such as example.com.`);
    return domain.toLowerCase();
  });
}

async function loadParent({ db, principal }: ControlContext, parentid: number): Promise<Principal> {
  const parent = await readPrincipal(db, principal.tenantid, parentid);
  if (!parent) throw badInput('parentid', `The tenant has no role ${parentid}.`);
  return parent;
}

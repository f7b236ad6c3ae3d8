import { Router } from 'express';
import { holds, requireCapability } from '../../control/permissions.js';
import { PRESETS } from '../../control/roles/presets.js';
import { AppError } from '../../foundation/errors.js';
import type { Role } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { numberOf, problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const INVITE = `${CONSOLE}/roles/invite`;
const MAKE_ROLE = 'mutation ($input: roleInput) { create_role(input: $input) { roleid login name } }';
const MAKE_LINK = `mutation ($roleid: Int) {
  create_invitation(input: { roleid: $roleid }) { roleid link expires }
}`;
const END_LINK = 'mutation ($roleid: ID!) { delete_invitation(roleid: $roleid) { roleid } }';
const NAMES = 'query ($filter: String) { role(filter: $filter, limit: 1) { roleid login name } }';

/** The form that lets a colleague in: a role with a preset, and a link by which the colleague chooses a password. */
export function invitePages({ page, form }: PageHandlers): Router {
  const open = page(async (visit) => {
    requireInviter(visit);
    await showForm(visit);
  });

  const submit = form(async (visit, _req, res) => {
    requireInviter(visit);
    const { values, query } = visit;
    const roleid = numberOf(values, 'id');
    if (values['action'] === 'end') {
      await query(END_LINK, { roleid });
      res.redirect(303, linkTo(`${CONSOLE}/roles/edit`, { id: roleid, done: 'ended' }));
      return;
    }
    if (roleid !== 0) {
      const { role } = await query<{ role: readonly Role[] }>(NAMES, { filter: `roleid = ${roleid}` });
      await showLink(visit, role[0] ?? { roleid, login: null, name: null });
      return;
    }
    let colleague: Role;
    try {
      colleague = (await query<{ create_role: Role }>(MAKE_ROLE, { input: inputOf(visit) })).create_role;
    } catch (error) {
      await showForm(visit, problemOf(error));
      return;
    }
    await showLink(visit, colleague);
  });

  return Router().get(INVITE, open).post(INVITE, submit);
}

/** Both are needed, and the second comes too late to say so. Throws AppError PERMISSION_DENIED. */
function requireInviter({ session: { principal } }: Visit): void {
  requireCapability(principal, 'create_role');
  requireCapability(principal, 'update_role');
}

/** Throws AppError BAD_USER_INPUT. */
function inputOf({ values }: Visit): object {
  const chosen = PRESETS.find(({ name }) => name === values['preset']);
  if (!chosen)
    throw new AppError('BAD_USER_INPUT', 'Choose what your colleague may do.', {
      details: { field: 'preset' },
    });
  return {
    login: textOf(values, 'login'),
    name: textOf(values, 'name') || null,
    capabilities: chosen.capabilities,
  };
}

async function showForm(visit: Visit, problem?: AppError): Promise<void> {
  const { session, show, values } = visit;
  const { principal } = session;
  await show(
    'invite',
    {
      title: 'Let a colleague in',
      name: textOf(values, 'name'),
      login: textOf(values, 'login'),
      // Nobody gives what they don't hold.
      presets: PRESETS.filter(({ capabilities }) => capabilities.every((each) => holds(principal, each))).map(
        (preset) => ({ ...preset, chosen: preset.name === (values['preset'] ?? 'Support') }),
      ),
    },
    { problem },
  );
}

/** Not redirected: the link is shown this once. */
async function showLink(visit: Visit, colleague: Role): Promise<void> {
  const { create_invitation: made } = await visit.query<{
    create_invitation: { readonly link: string; readonly expires: string };
  }>(MAKE_LINK, { roleid: colleague.roleid });
  await visit.show(
    'invited',
    { title: 'The link for your colleague', colleague, ...made },
    { script: 'copy.js' },
  );
}

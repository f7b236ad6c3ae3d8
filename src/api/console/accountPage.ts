import { Router } from 'express';
import { holds } from '../../control/permissions.js';
import { PRESETS, type Preset } from '../../control/roles/presets.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { ACCOUNT, linkTo, SIGN_IN } from './consolePath.js';
import { formText } from '../http/formText.js';
import { problemOf, textOf, type Id, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { END_SESSION, SESSION_FIELDS, withBrowserNames, type ListedSession } from './sessionList.js';

const OWN = 'roleid = $_PRINCIPAL.roleid';
const READ = `query ($own: String) {
  role(filter: $own) { login name password_createtime classes { name } }
  capability(ordering: ["package", "capability"]) { capability description }
  policy_rule(ordering: ["name"], limit: 1000) { name capabilities targets filter }
  role_oidc(filter: $own, ordering: ["createtime"]) { confid sub_id createtime }
  oidc_config(limit: 1000) { confid providerid }
  oidc_providers(limit: 1000) { providerid name }
  Utility { sessions { ${SESSION_FIELDS} } }
}`;
const CHANGE =
  'mutation ($roleid: ID!, $input: roleInput) { update_role(roleid: $roleid, input: $input) { roleid } }';
const END_OTHERS = 'mutation { Utility { end_other_sessions } }';
const END_ALL = 'mutation { Utility { end_sessions } }';
const NOTICES: Readonly<Record<string, string>> = {
  saved: 'Saved.',
  ended: 'The session has ended.',
  others: 'All other sessions have ended.',
};

interface Rule {
  readonly capabilities: readonly string[];
}

interface Account {
  readonly role: readonly { readonly password_createtime: string | null }[];
  readonly capability: readonly { readonly capability: string }[];
  readonly policy_rule: readonly Rule[];
  readonly role_oidc: readonly { readonly confid: Id }[];
  readonly oidc_config: readonly { readonly confid: Id; readonly providerid: Id }[];
  readonly oidc_providers: readonly { readonly providerid: Id; readonly name: string }[];
  readonly Utility: { readonly sessions: readonly ListedSession[] };
}

/** `/console/account`: who one is here, what one may do, and how one signs in. */
export function accountPage({ page, form }: PageHandlers): Router {
  const open = page((visit, req) =>
    showAccount(visit, { notice: ownValue(NOTICES, textOf(req.query, 'done')) }),
  );

  const change = form(async (visit, _req, res) => {
    const { query, values, session } = visit;
    const roleid = session.principal.roleid;
    const action = textOf(values, 'action');
    try {
      if (action === 'name') {
        await query(CHANGE, { roleid, input: { name: textOf(values, 'name') || null } });
        res.redirect(303, linkTo(ACCOUNT, { done: 'saved' }));
      } else if (action === 'password') {
        await query(CHANGE, { roleid, input: passwordsIn(values) });
        // It has ended this session too.
        res.redirect(303, linkTo(SIGN_IN, { done: 'password' }));
      } else if (action === 'end') {
        await query(END_SESSION, { sessionid: textOf(values, 'sessionid') });
        res.redirect(303, linkTo(ACCOUNT, { done: 'ended' }));
      } else if (action === 'others') {
        await query(END_OTHERS);
        res.redirect(303, linkTo(ACCOUNT, { done: 'others' }));
      } else if (action === 'all') {
        await query(END_ALL);
        res.redirect(303, SIGN_IN);
      } else throw new AppError('BAD_REQUEST', 'Choose what is to be done.');
    } catch (error) {
      await showAccount(visit, { problem: problemOf(error) });
    }
  });

  return Router().get(ACCOUNT, open).post(ACCOUNT, change);
}

/** Throws AppError BAD_USER_INPUT. */
function passwordsIn(values: Values): object {
  const [current_password, password] = [formText(values, 'current_password'), formText(values, 'secret')];
  if (current_password === '' || password === '')
    throw new AppError('BAD_USER_INPUT', 'Enter your current password and a new one.');
  return { current_password, password };
}

async function showAccount(
  { query, show, session: { principal } }: Visit,
  { notice, problem }: { readonly notice?: string | undefined; readonly problem?: AppError },
): Promise<void> {
  const account = await query<Account>(READ, { own: OWN });
  const { capability, policy_rule, role_oidc, oidc_config, oidc_providers, Utility } = account;
  const [role] = account.role;
  await show(
    'account',
    {
      title: 'Your account',
      role,
      notice,
      preset: presetOf(principal),
      capabilities: capability.filter((each) => principal.capabilities.includes(each.capability)),
      rules: principal.isAdmin ? [] : rulesOf(principal, policy_rule),
      isRoot: principal.isRoot,
      identities: role_oidc.map((identity) => {
        const config = oidc_config.find(({ confid }) => String(confid) === String(identity.confid));
        const provider = oidc_providers.find(
          ({ providerid }) => String(providerid) === String(config?.providerid),
        );
        return { ...identity, provider: provider?.name };
      }),
      sessions: withBrowserNames(Utility.sessions),
    },
    { problem },
  );
}

/** The preset of exactly these capabilities. */
function presetOf({ capabilities }: Principal): Preset | undefined {
  return PRESETS.find(
    (preset) =>
      preset.capabilities.length === capabilities.length &&
      preset.capabilities.every((each) => capabilities.includes(each)),
  );
}

/** What policy rules grant in effect. */
function rulesOf(principal: Principal, rules: readonly Rule[]): readonly object[] {
  return rules
    .map((rule) => ({ ...rule, may: rule.capabilities.filter((each) => holds(principal, each)) }))
    .filter(({ may }) => may.length > 0);
}

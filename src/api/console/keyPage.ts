import { Router } from 'express';
import { holds } from '../../control/permissions.js';
import type { Principal } from '../../db/roles/principal.js';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import type { Role } from './choices.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { checkedOf, numberOf, problemOf, textOf, type Values } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const KEYS = `${CONSOLE}/keys`;
const LIST = `query ($filter: String, $role: String) {
  api_key(filter: $filter, ordering: ["createtime desc"], limit: 100) { keyid name hint capabilities expires last_used createtime }
  capability(ordering: ["package", "capability"]) { capability description }
  role(filter: $role, limit: 1) { roleid login name }
}`;
const MAKE = 'mutation ($input: api_keyInput) { made: create_api_key(input: $input) { key } }';
const DELETE = 'mutation ($keyid: ID!) { delete_api_key(keyid: $keyid) { keyid } }';
const DAY_MS = 86_400_000;
/** When keys end, in days. */
const LIFETIMES = ['30', '90', '365', ''];
const NOTICES: Readonly<Record<string, string>> = { deleted: 'The key is deleted.' };

interface Keys {
  readonly api_key: readonly object[];
  readonly capability: readonly { readonly capability: string }[];
  readonly role: readonly Role[];
}

/** The page of one's own API keys, and of those of a role that one may change. */
export function keyPage({ page, form }: PageHandlers): Router {
  const list = page((visit, req) =>
    showKeys(visit, numberOf(req.query, 'roleid'), { notice: ownValue(NOTICES, textOf(req.query, 'done')) }),
  );

  const change = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const roleid = numberOf(values, 'roleid');
    try {
      if (values['action'] === 'delete') {
        await query(DELETE, { keyid: textOf(values, 'keyid') });
        res.redirect(303, linkTo(KEYS, { roleid, done: 'deleted' }));
      } else if (values['action'] === 'make') {
        const { made } = await query<{ made: { readonly key: string } }>(MAKE, { input: inputOf(values) });
        // Not redirected: it is shown this once.
        await showKeys(visit, roleid, { key: made.key });
      } else throw new AppError('BAD_REQUEST', 'Choose what is to be done.');
    } catch (error) {
      await showKeys(visit, roleid, { problem: problemOf(error) });
    }
  });

  return Router().get(KEYS, list).post(KEYS, change);
}

async function showKeys(
  { query, show, values, session }: Visit,
  roleid: number,
  more: {
    readonly notice?: string | undefined;
    readonly key?: string;
    readonly problem?: AppError;
  },
): Promise<void> {
  const { problem, ...shown } = more;
  const whose = roleid === 0 ? '$_PRINCIPAL.roleid' : String(roleid);
  const filter = `roleid = ${whose}`;
  const { api_key, capability, role } = await query<Keys>(LIST, { filter, role: filter });
  const of = role[0]?.login ?? role[0]?.name ?? `role ${roleid}`;
  const written = problem ? values : {};
  await show(
    'keys',
    {
      title: roleid === 0 ? 'Your API keys' : `API keys of ${of}`,
      of,
      roleid,
      keys: api_key,
      name: textOf(written, 'name'),
      capabilities: capability
        .filter((each) => roleid !== 0 || has(session.principal, each.capability))
        .map((each) => ({ ...each, chosen: checkedOf(written, 'may_').includes(each.capability) })),
      lifetimes: LIFETIMES.map((days) => ({
        days,
        chosen: days === (problem ? textOf(written, 'days') : '90'),
      })),
      ...shown,
    },
    { problem, script: 'copy.js' },
  );
}

/** Itself, or for some tables by a policy rule. */
function has(principal: Principal, capability: string): boolean {
  return (
    holds(principal, capability) ||
    principal.rules.some(({ capabilities }) => capabilities.includes(capability))
  );
}

/** No box checked means all that the role may do, and an empty password that it is not given. */
function inputOf(values: Values): Values {
  const [roleid, capabilities] = [numberOf(values, 'roleid'), checkedOf(values, 'may_')];
  const days = textOf(values, 'days');
  if (!LIFETIMES.includes(days)) throw new AppError('BAD_REQUEST', 'Choose when the key ends.');
  const { current_password } = values;
  return {
    name: textOf(values, 'name'),
    ...(roleid === 0 ? {} : { roleid }),
    ...(capabilities.length === 0 ? {} : { capabilities }),
    ...(days === '' ? {} : { expires: new Date(Date.now() + Number(days) * DAY_MS).toISOString() }),
    ...(typeof current_password === 'string' && current_password !== '' ? { current_password } : {}),
  };
}

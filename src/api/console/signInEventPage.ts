import { Router } from 'express';
import { signInEvent } from '../../control/objects/signInEvent.js';
import { AppError, ERROR_CODES } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { readConfigs, type Role } from './choices.js';
import { CONSOLE } from './consolePath.js';
import { containing, literal } from './deliveryFilter.js';
import { problemOf, textOf, type Id, type Values } from './formValues.js';
import { ObjectRequests } from './objectRequests.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const SIGN_INS = `${CONSOLE}/sign-ins`;
const ROLES =
  'query ($filter: String, $limit: Int) { role(filter: $filter, limit: $limit) { roleid login name } }';
/** Roles that a name is searched in; others are found by number. */
const MAX_FOUND = 100;
const NO_ROLE = 0;
const PASSWORD = 'password';

const KINDS: Readonly<Record<string, string>> = {
  signed_in: 'Signed in',
  refused: 'Refused',
  provisioned: 'Role created or linked',
  classes_changed: 'Classes changed',
  signed_out: 'Signed out',
  password_email: 'Email about a password',
};
const SIGN_OUTS: Readonly<Record<string, string>> = {
  console: 'In the console',
  program: 'By a program',
  provider: 'At the provider',
  ended: 'One session was ended',
  all: 'All sessions were ended',
  others: 'All other sessions were ended',
};

interface Event {
  readonly kind: string;
  readonly reason: string | null;
  readonly roleid: Id | null;
  readonly actorid: Id | null;
}

const events = new ObjectRequests<Event>(
  signInEvent,
  'time last_time count kind roleid provider reason address actorid',
  // An index has this order.
  ['time desc', 'eventid desc'],
);

/** Who signed in, was refused and signed out: what `sign_in_event` shows the role. */
export function signInEventPage({ page }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const search = readSearch(req.query);
    const values = {
      title: 'Sign-ins',
      search,
      kinds: Object.entries(KINDS).map(([value, label]) => ({ value, label })),
      providers: await readProviders(visit),
    };
    try {
      const filter = await filterOf(visit, search);
      const { shown, ...links } = await events.page(visit, SIGN_INS, req.query, { filter, search });
      await visit.show('sign-ins', { ...values, ...links, events: await withNames(visit, shown) });
    } catch (error) {
      await visit.show('sign-ins', { ...values, events: [] }, { problem: problemOf(error) });
    }
  });

  return Router().get(SIGN_INS, list);
}

const FIELDS = ['who', 'kind', 'provider', 'day'] as const;
type Search = Readonly<Record<(typeof FIELDS)[number], string>>;

function readSearch(query: Values): Search {
  return Object.fromEntries(FIELDS.map((name) => [name, textOf(query, name)])) as Search;
}

/** Throws AppError BAD_USER_INPUT. */
async function filterOf(visit: Visit, { who, kind, provider, day }: Search): Promise<string> {
  const conditions: string[] = [];
  if (who !== '') {
    const ids = await findRoles(visit, who);
    conditions.push(`roleid in [${(ids.length === 0 ? [NO_ROLE] : ids).join(', ')}]`);
  }
  if (kind !== '') conditions.push(`kind = ${literal(kind)}`);
  if (provider === PASSWORD) conditions.push('confid is null');
  else if (provider !== '') conditions.push(`confid = ${readNumber(provider)}`);
  if (day !== '') conditions.push(...onDay(day));
  return conditions.join(' and ');
}

/** By number, or by a part of login or name. */
async function findRoles({ query }: Visit, who: string): Promise<readonly number[]> {
  if (/^\d{1,9}$/.test(who)) return [Number(who)];
  const part = literal(containing(who));
  const { role } = await query<{ role: readonly Role[] }>(ROLES, {
    filter: `login ilike ${part} or name ilike ${part}`,
    limit: MAX_FOUND,
  });
  return role.map(({ roleid }) => Number(roleid));
}

/** Throws AppError BAD_USER_INPUT. */
function onDay(day: string): readonly string[] {
  const begin = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : NaN;
  if (Number.isNaN(begin))
    throw new AppError('BAD_USER_INPUT', 'The day must be a date, such as 2026-05-31.', {
      details: { field: 'day' },
    });
  const next = new Date(begin + DAY_MS);
  return [`time >= ${literal(new Date(begin).toISOString())}`, `time < ${literal(next.toISOString())}`];
}

const DAY_MS = 86_400_000;

/** Throws AppError BAD_USER_INPUT. */
function readNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new AppError('BAD_USER_INPUT', 'Choose a provider of the list.', { details: { field: 'provider' } });
}

async function readProviders({ query }: Visit): Promise<readonly object[]> {
  return [
    { value: PASSWORD, label: 'A password' },
    ...(await readConfigs(query)).map(({ confid, provider = 'A provider' }) => ({
      value: String(confid),
      label: `${provider} (${confid})`,
    })),
  ];
}

/** With what the roles are called, as far as they are shown to the role. */
async function withNames({ query }: Visit, shown: readonly Event[]): Promise<readonly object[]> {
  const ids = new Set(
    shown.flatMap(({ roleid, actorid }) => [roleid, actorid].filter((id) => id !== null).map(Number)),
  );
  const { role } =
    ids.size === 0
      ? { role: [] }
      : await query<{ role: readonly Role[] }>(ROLES, {
          filter: `roleid in [${[...ids].join(', ')}]`,
          limit: ids.size,
        });
  const names = new Map(role.map(({ roleid, login, name }) => [Number(roleid), login ?? name]));
  const nameOf = (id: Id | null): string | null =>
    id === null ? null : (names.get(Number(id)) ?? `role ${id}`);
  return shown.map((event) => ({
    ...event,
    who: nameOf(event.roleid),
    actor: nameOf(event.actorid),
    label: ownValue(KINDS, event.kind) ?? event.kind,
    ...whyOf(event),
  }));
}

function whyOf({ kind, reason }: Event): { readonly why?: string | undefined; readonly code?: string } {
  if (reason === null) return {};
  if (kind === 'classes_changed') return { why: `It ${reason}` };
  if (kind === 'password_email') return { why: 'It was not sent', code: reason };
  if (kind !== 'refused') return { why: ownValue(SIGN_OUTS, reason) ?? reason };
  const known = Object.hasOwn(ERROR_CODES, reason)
    ? ERROR_CODES[reason as keyof typeof ERROR_CODES]
    : undefined;
  return { why: known?.[1], code: reason };
}

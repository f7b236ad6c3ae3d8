import { Router } from 'express';
import { AppError } from '../../foundation/errors.js';
import { ownValue } from '../../foundation/ownValue.js';
import { ACCOUNT, CONSOLE, linkTo } from './consolePath.js';
import { numberOf, problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';
import { END_SESSION, SESSION_FIELDS, withBrowserNames, type ListedSession } from './sessionList.js';

const SESSIONS = `${CONSOLE}/sessions`;
const LIST = `query ($roleid: Int) { Utility { sessions(roleid: $roleid) { ${SESSION_FIELDS} } } }`;
const END_ALL = 'mutation ($roleid: Int!) { Utility { end_sessions(roleid: $roleid) } }';
const NOTICES: Readonly<Record<string, string>> = {
  ended: 'The session has ended.',
  all: 'All sessions have ended.',
};

/** The page of the sessions of a role that one may change. One's own are on the page of one's account. */
export function sessionPage({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req, res) => {
    const roleid = numberOf(req.query, 'roleid');
    if (roleid === 0) res.redirect(303, ACCOUNT);
    else await showSessions(visit, roleid, { notice: ownValue(NOTICES, textOf(req.query, 'done')) });
  });

  const end = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const roleid = numberOf(values, 'roleid');
    const action = textOf(values, 'action');
    try {
      if (action === 'end') await query(END_SESSION, { sessionid: textOf(values, 'sessionid') });
      else if (action === 'all') await query(END_ALL, { roleid });
      else throw new AppError('BAD_REQUEST', 'Choose what is to end.');
      res.redirect(303, linkTo(SESSIONS, { roleid, done: action === 'end' ? 'ended' : 'all' }));
    } catch (error) {
      await showSessions(visit, roleid, { problem: problemOf(error) });
    }
  });

  return Router().get(SESSIONS, list).post(SESSIONS, end);
}

async function showSessions(
  { query, show }: Visit,
  roleid: number,
  { notice, problem }: { readonly notice?: string | undefined; readonly problem?: AppError },
): Promise<void> {
  const { Utility } = await query<{ Utility: { sessions: readonly ListedSession[] } }>(LIST, { roleid });
  await show(
    'sessions',
    { title: `Sessions of role ${roleid}`, roleid, sessions: withBrowserNames(Utility.sessions), notice },
    { problem },
  );
}

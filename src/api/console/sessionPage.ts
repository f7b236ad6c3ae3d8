import { Router } from 'express';
import { AppError } from '../../foundation/errors.js';
import { browserName } from './browserName.js';
import { CONSOLE, linkTo } from './consolePath.js';
import { numberOf, problemOf, textOf } from './formValues.js';
import type { PageHandlers, Visit } from './pageHandlers.js';

const SESSIONS = `${CONSOLE}/sessions`;
const LIST = `query ($roleid: Int) {
  Utility { sessions(roleid: $roleid) { sessionid is_current is_console provider since last_used ends browser address } }
}`;
const END = 'mutation ($sessionid: ID!) { Utility { end_session(sessionid: $sessionid) } }';
const END_ALL = 'mutation ($roleid: Int) { Utility { end_sessions(roleid: $roleid) } }';
const NOTICES: Readonly<Record<string, string>> = {
  ended: 'The session has ended.',
  all: 'All sessions have ended.',
};

interface Session {
  readonly browser: string;
}

/** The page of one's own sessions, and of those of a role that one may change. */
export function sessionPage({ page, form }: PageHandlers): Router {
  const list = page(async (visit, req) => {
    const notice = new Map(Object.entries(NOTICES)).get(textOf(req.query, 'done'));
    await showSessions(visit, numberOf(req.query, 'roleid'), { notice });
  });

  const end = form(async (visit, _req, res) => {
    const { values, query } = visit;
    const roleid = numberOf(values, 'roleid');
    const action = textOf(values, 'action');
    try {
      if (action === 'end') await query(END, { sessionid: textOf(values, 'sessionid') });
      else if (action === 'all') await query(END_ALL, roleid === 0 ? {} : { roleid });
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
  const { Utility } = await query<{ Utility: { sessions: readonly Session[] } }>(
    LIST,
    roleid === 0 ? {} : { roleid },
  );
  const values = {
    title: roleid === 0 ? 'Your sessions' : `Sessions of role ${roleid}`,
    roleid,
    sessions: Utility.sessions.map((session) => ({ ...session, name: browserName(session.browser) })),
    notice,
  };
  await show('sessions', values, { problem });
}

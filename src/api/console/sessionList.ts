import { browserName } from './browserName.js';

/** What `session-list.liquid` shows of a session. */
export const SESSION_FIELDS = 'sessionid is_current is_console provider since last_used ends browser address';
export const END_SESSION = 'mutation ($sessionid: ID!) { Utility { end_session(sessionid: $sessionid) } }';

export interface ListedSession {
  readonly browser: string;
}

export function withBrowserNames(sessions: readonly ListedSession[]): readonly object[] {
  return sessions.map((session) => ({ ...session, name: browserName(session.browser) }));
}

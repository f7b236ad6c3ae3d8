import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { isAnonymous, type Principal } from '../../db/roles/principal.js';
import {
  endOtherSessions,
  endSession,
  listSessions,
  readSessionRole,
  type Session,
} from '../../db/roles/signIn/sessions.js';
import { recordSignInEvents, type SignInEvent } from '../../db/roles/signIn/signInEvents.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { notFound } from '../derive/badInput.js';
import { denied } from '../permissions.js';
import { requireManageable } from './rolePermissions.js';
import { endSessions } from './roles.js';

const text = (description: string) => ({ type: GraphQLString, description });

const sessionType = new GraphQLObjectType<Session, ControlContext>({
  name: 'session',
  description: 'Where a role is signed in.',
  fields: {
    sessionid: { type: new GraphQLNonNull(ID) },
    roleid: { type: new GraphQLNonNull(SCALARS.Int) },
    is_current: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether this request belongs to it.',
      resolve: ({ sessionid }, _args, { options }) => sessionid === options.sessionid,
    },
    is_console: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'A session of the console; otherwise one with tokens.',
    },
    confid: { type: SCALARS.Int, description: 'The configuration of the provider; null for a password.' },
    provider: text("The provider's name; null for a password."),
    since: text('When the role signed in.'),
    last_used: text('When it was used last, to within a minute or two.'),
    ends: text('When the provider is asked again (`max_session_age`); null if only its tokens expire.'),
    browser: text('The `User-Agent` that signed in, or got tokens last.'),
    address: text('Where that was, one /64 for IPv6.'),
  },
});

const roleidArg = { roleid: { type: SCALARS.Int, description: 'The caller if omitted.' } };

/** `Utility.sessions`. Throws AppError NOT_FOUND, PERMISSION_DENIED. */
export const sessionsField: ControlField<{ roleid?: number | null }> = {
  type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(sessionType))),
  description:
    'Where the caller, or a role that it may change, is signed in: the 200 sessions that were used last. Tokens of `role_token` belong to the session of whoever got them.',
  args: roleidArg,
  resolve: async (_source, { roleid }, context) => {
    const { principal, db, deps } = context;
    const ofRole = await requireRole(context, roleid);
    const role =
      ofRole === principal.roleid ? principal : await deps.principals.reload(principal.tenantid, ofRole);
    return role ? listSessions(db, role.tenantid, role.roleid, role.tokensValidFromMs) : [];
  },
};

/** `Utility.end_session`. Throws AppError NOT_FOUND, PERMISSION_DENIED. */
export const endSessionField: ControlField<{ sessionid: string }> = {
  type: ID,
  description:
    'Ends a session of the caller, or of a role that it may change: its tokens are invalid within a second. Returns its id.',
  args: { sessionid: { type: new GraphQLNonNull(ID) } },
  resolve: async (_source, { sessionid }, context) => {
    const { principal, db, deps } = context;
    const { tenantid } = principal;
    const key = { tenantid, sessionid };
    const roleid = UUID.test(sessionid) ? await readSessionRole(db, key) : undefined;
    if (roleid === undefined) throw notFound('session', sessionid);
    if (roleid !== principal.roleid) await requireManageable(context, roleid);
    const ended = await endSession(db, key, deps.config.accessTokenSeconds);
    const confid = ended?.confid ?? undefined;
    await recordSignInEvents(db, [{ ...signedOut(principal, roleid), confid, reason: 'ended' }]);
    return sessionid;
  },
};

/** `Utility.end_sessions`. Throws AppError NOT_FOUND, PERMISSION_DENIED. */
export const endSessionsField: ControlField<{ roleid?: number | null }> = {
  type: SCALARS.Int,
  description:
    "Ends all sessions of the caller, or of a role that it may change, including this one: all tokens, API keys, invitations, sign-ins under way and addresses of files are invalid within a second. Returns the role's id.",
  args: roleidArg,
  resolve: async (_source, { roleid }, context) => {
    const ofRole = await requireRole(context, roleid);
    await endSessions(context.db, [ofRole]);
    await recordSignInEvents(context.db, [{ ...signedOut(context.principal, ofRole), reason: 'all' }]);
    return ofRole;
  },
};

/** `Utility.end_other_sessions`. Throws AppError PERMISSION_DENIED. */
export const endOtherSessionsField: ControlField = {
  type: SCALARS.Int,
  description: 'Ends all sessions of the caller but that of this request, and no API keys. Returns how many.',
  resolve: async (_source, _args, { principal, db, deps, options: { sessionid } }) => {
    if (isAnonymous(principal)) throw denied('Anonymous clients have no sessions.');
    const { tenantid, roleid } = principal;
    const ended = await endOtherSessions(db, { tenantid, roleid, sessionid }, deps.config.accessTokenSeconds);
    if (ended > 0) await recordSignInEvents(db, [{ ...signedOut(principal, roleid), reason: 'others' }]);
    return ended;
  },
};

function signedOut({ tenantid, roleid: actorid }: Principal, roleid: number): SignInEvent {
  return { tenantid, roleid, kind: 'signed_out', ...(actorid === roleid ? {} : { actorid }) };
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Throws AppError NOT_FOUND, PERMISSION_DENIED. */
async function requireRole(context: ControlContext, roleid: number | null | undefined): Promise<number> {
  const { principal } = context;
  // All anonymous clients are one role.
  if (isAnonymous(principal)) throw denied('Anonymous clients have no sessions.');
  if (roleid == null || roleid === principal.roleid) return principal.roleid;
  return (await requireManageable(context, roleid)).roleid;
}

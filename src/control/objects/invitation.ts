import { GraphQLString } from 'graphql';
import { insertInvitation, makeInvitation, MAX_INVITATION_DAYS } from '../../db/roles/invitations.js';
import {
  ANONYMOUS_LOGIN,
  isAnonymous,
  readPrincipal,
  TOKENS_VALID_FROM_MS,
} from '../../db/roles/principal.js';
import { fixed, sql, written } from '../../db/sql/sql.js';
import { INVITATION_PATH } from '../roles/acceptInvitation.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { ofOwnRoles } from '../derive/visibility.js';
import { holds, requireCapability } from '../permissions.js';
import { requireManageable } from '../roles/rolePermissions.js';

const DAY_MS = 86_400_000;

/** Links by which people choose the password of a role themselves. */
export const invitation = controlObject({
  table: 'invitation',
  label: 'invitation',
  description:
    "A link by which somebody chooses the password of a role, once, and is signed in. It ends with what ends the role's sessions, such as another password, and with the right of its creator to change the role.",
  key: ['roleid'],
  columns: {
    roleid: { type: 'int4', input: 'The role. A new invitation replaces its earlier one.', required: true },
    link: {
      type: 'text',
      output: GraphQLString,
      description: 'Returned by create_invitation only. Its hash is stored.',
      secret: 'hash',
    },
    expires: {
      type: 'timestamptz',
      input: `When it ends; after seven days if omitted. At most ${MAX_INVITATION_DAYS} days from now.`,
    },
    ...CREATED,
  },
  visible(principal, row) {
    if (isAnonymous(principal)) return 'none';
    return sql`${ofOwnRoles(principal, row)} and ${row}.expires > now()
      and exists (select from rowpost.role r where r.roleid = ${row}.roleid and ${row}.state_ms = ${STATE})`;
  },
  // Whoever may set its password may let somebody else do it.
  mayChange: (principal) => requireCapability(principal, 'update_role'),
  changes: ['create', 'delete'],
  authorize: ({ context, given }) => requireInvitee(context, given.roleid),
  check({ context: { deps }, row: { expires } }) {
    const fromNowMs = expires === null ? DAY_MS : Date.parse(expires) - deps.clock.now();
    if (!(fromNowMs > 0 && fromNowMs <= MAX_INVITATION_DAYS * DAY_MS))
      throw badInput('expires', `expires must be within the next ${MAX_INVITATION_DAYS} days.`);
  },
  overrides: {
    async insert({ db, principal, deps: { config } }, { roleid, expires }) {
      const { tenantid, roleid: creatorid } = principal;
      const secret = makeInvitation(tenantid);
      await insertInvitation(db, { tenantid, roleid, secret, expires, creatorid });
      return { roleid, link: `${config.baseUrl}${INVITATION_PATH}${secret}` };
    },
  },
  async beforeDelete(context, { roleid }) {
    await requireManageable(context, roleid);
  },
  deleteDescription: 'The link no longer works.',
});

const STATE = written(fixed(TOKENS_VALID_FROM_MS));

/** Throws AppError NOT_FOUND, PERMISSION_DENIED, BAD_USER_INPUT. */
async function requireInvitee(context: ControlContext, roleid: number | null | undefined): Promise<void> {
  // What is missing is said with all that is wrong.
  if (roleid == null) return;
  if (roleid === context.principal.roleid)
    throw badInput('roleid', 'A role changes its own password by update_role.');
  const role = await requireManageable(context, roleid);
  if (role.deleted) throw badInput('roleid', `Role ${roleid} is deleted.`);
  if (role.login === null || role.login === ANONYMOUS_LOGIN)
    throw badInput('roleid', `Role ${roleid} has no login to sign in with.`);
  const invited = await readPrincipal(context.db, context.principal.tenantid, roleid);
  if (invited && !holds(invited, 'login'))
    throw badInput('roleid', `Role ${roleid} does not have the capability "login".`);
}

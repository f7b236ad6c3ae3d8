import { GraphQLString } from 'graphql';
import { MAX_API_KEYS } from '../../db/roles/apiKeys.js';
import { insertApiKey } from '../../db/roles/insertApiKey.js';
import { ANONYMOUS_LOGIN, isAnonymous, readPrincipal } from '../../db/roles/principal.js';
import { makeApiKey, readApiKey } from '../../foundation/apiKeyText.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, notFound } from '../derive/badInput.js';
import { CREATED, CURRENT_PASSWORD } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { mapUniqueViolation } from '../derive/mapUniqueViolation.js';
import { distinct } from '../derive/readValues.js';
import { requireKnownCapabilities } from '../derive/references.js';
import { ofOwnRoles } from '../derive/visibility.js';
import { denied } from '../permissions.js';
import { requireReauthenticated } from '../roles/reauthentication.js';
import { requireManageable } from '../roles/rolePermissions.js';

const MAX_NAME_CHARACTERS = 100;
/** Of a key, besides its prefix: few enough that the rest can't be guessed. */
const HINT_CHARACTERS = 4;
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Keys by which programs act as a role. */
export const apiKey = controlObject({
  table: 'api_key',
  label: 'API key',
  description:
    "A key by which a program acts as a role: `Authorization: Bearer rowpost_…`, at `/query` and `/roles_pbac`. It ends with what ends the role's sessions, such as a new password.",
  key: ['keyid'],
  columns: {
    keyid: { type: 'uuid', required: true },
    roleid: { type: 'int4', input: 'The role that the key acts as; the caller if omitted.' },
    name: { type: 'text', input: 'What it is for.', required: true, maxCharacters: MAX_NAME_CHARACTERS },
    key: {
      type: 'text',
      output: GraphQLString,
      description: 'Returned by create_api_key only. Its hash is stored.',
      secret: 'hash',
    },
    hint: { type: 'text', description: 'How it begins and ends.' },
    capabilities: {
      type: 'text[]',
      input:
        'Those of the role that the key has; all that the role may do if omitted. It may then not act for other roles. A key that a role without `admin` makes for another one has those of now.',
      read: distinct<string>,
      references: requireKnownCapabilities,
    },
    expires: { type: 'timestamptz', input: 'When it ends; never if omitted.' },
    last_used: {
      type: 'timestamptz',
      description: 'When it was used last, to within a minute or two; null if never.',
    },
    current_password: CURRENT_PASSWORD,
    ...CREATED,
  },
  inputOrder: ['name'],
  visible: (principal, row) => (isAnonymous(principal) ? 'none' : ofOwnRoles(principal, row)),
  // Each checks whose key it is.
  mayChange: () => undefined,
  changes: ['create', 'delete'],
  authorize: ({ context, given }) => requireKeyRole(context, given.roleid),
  check({ context: { deps }, row: { expires } }) {
    if (expires !== null && !(Date.parse(expires) > deps.clock.now()))
      throw badInput('expires', 'expires must be in the future.');
  },
  overrides: {
    readKey: (_context, { keyid = '' }) => {
      if (!UUID.test(keyid)) throw notFound('API key', keyid);
      return Promise.resolve({ keyid });
    },
    async insert(context, { roleid: given, name, capabilities, expires }) {
      const { db, principal } = context;
      const { tenantid, roleid: creatorid } = principal;
      const roleid = given ?? creatorid;
      const key = makeApiKey(tenantid, roleid);
      const hash = readApiKey(key)?.hash ?? '';
      const hint = `${key.slice(0, key.lastIndexOf('_') + 1 + HINT_CHARACTERS)}…${key.slice(-HINT_CHARACTERS)}`;
      const insert = insertApiKey(db, {
        tenantid,
        roleid,
        name,
        hash,
        hint,
        capabilities: await capabilitiesFor(context, roleid, capabilities),
        expires,
        creatorid,
      });
      const keyid = await mapUniqueViolation(insert, `Another API key of the role is named "${name}".`, {
        field: 'name',
      });
      if (keyid === undefined)
        throw badInput('roleid', `A role has at most ${MAX_API_KEYS} API keys: delete one first.`);
      return { keyid, key };
    },
  },
  async beforeDelete(context, { roleid }) {
    const { principal } = context;
    if (isAnonymous(principal)) throw denied('Anonymous clients have no API keys.');
    if (roleid !== principal.roleid) await requireManageable(context, roleid ?? 0);
  },
  deleteDescription: 'The key is refused within a second, on every process.',
});

/**
 * Of a key for another role, those that it holds now, unless an administrator makes it: whoever makes it has no more, and must
 * not get what the role gets later.
 */
async function capabilitiesFor(
  { db, principal }: ControlContext,
  roleid: number,
  wanted: readonly string[] | null,
): Promise<readonly string[] | null> {
  if (roleid === principal.roleid || principal.isAdmin) return wanted;
  const held = (await readPrincipal(db, principal.tenantid, roleid))?.capabilities ?? [];
  return held.filter((capability) => wanted?.includes(capability) ?? true);
}

/** Throws AppError PERMISSION_DENIED, NOT_FOUND, REAUTHENTICATION_REQUIRED, BAD_USER_INPUT. */
async function requireKeyRole(context: ControlContext, roleid: number | null | undefined): Promise<void> {
  const { principal, options } = context;
  if (isAnonymous(principal)) throw denied('Anonymous clients have no API keys.');
  // Somebody who got hold of one must not make one that outlives it.
  if (options.keyid !== undefined) throw denied("An API key can't make API keys.");
  if (roleid == null || roleid === principal.roleid) {
    requireReauthenticated(context, 'API keys');
    return;
  }
  const role = await requireManageable(context, roleid);
  if (role.deleted) throw badInput('roleid', `Role ${roleid} is deleted.`);
  if (role.login === ANONYMOUS_LOGIN) throw badInput('roleid', 'Anonymous clients have no API keys.');
}

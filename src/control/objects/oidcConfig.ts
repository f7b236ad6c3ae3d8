import { GraphQLString } from 'graphql';
import { CREATED } from '../derive/columns.js';
import { requireUsableProvider } from '../derive/references.js';
import { ofOwnTenant } from '../derive/visibility.js';
import { controlObject } from '../derive/declaration.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput, requireValue } from '../derive/badInput.js';
import { blankToNull } from '../derive/readValues.js';
import { limitSessions } from '../../db/roles/signIn/sessions.js';
import { insertClientKey } from '../oidc/clientKeys.js';
import { MAX_CONFIGS } from '../oidc/oidcRegistration.js';
import { requireRoot } from '../permissions.js';

/** A tenant's registration with a provider. */
export const oidcConfig = controlObject({
  table: 'oidc_config',
  label: 'configuration',
  key: ['confid'],
  columns: {
    confid: { type: 'int4', required: true },
    providerid: {
      type: 'int4',
      input: true,
      required: true,
      nullMeansUnchanged: true,
      references: requireUsableProvider,
    },
    client_id: {
      type: 'text',
      input: "The client ID from the tenant's registration with the provider.",
      required: true,
      maxCharacters: 1_000,
    },
    client_secret: {
      type: 'text',
      description: 'Returned by create_oidc_config only.',
      input: 'Stored encrypted, never logged. With a key (`with_key`), it may be omitted.',
      fallback: '',
      maxCharacters: 10_000,
      secret: true,
    },
    with_key: {
      type: 'bool',
      input: 'Whether the new configuration gets a key at once, to authenticate with instead (`oidc_key`).',
      inputOnly: true,
    },
    max_session_age: {
      type: 'int4',
      input:
        'Seconds after a sign-in at the provider, from 300, at which the sessions that came from it end, and the provider is asked again (`max_age`). Never if omitted. The provider must send `auth_time`.',
    },
    prompt: {
      type: 'text',
      input:
        'What the provider is asked to do at each sign-in, whether or not somebody is signed in there: `login`, `select_account` or `consent`. The provider decides if omitted.',
      read: blankToNull,
    },
    redirect_uri: {
      type: 'text',
      required: true,
      description:
        'Register exactly this address with the provider, and no other of this service. Filters compare what follows the base address.',
      shown: (path: string, { deps }) => deps.config.baseUrl + path,
    },
    client_secret_uuid: {
      type: 'uuid',
      output: GraphQLString,
      description: 'Changes with every new secret.',
    },
    ...CREATED,
  },
  visible: ofOwnTenant,
  mayChange: requireRoot,
  async check({ context, given, before, row }) {
    const { db } = context;
    if (!before) await requireConfigQuota(context);
    const { max_session_age: age, prompt } = row;
    if (age !== null && (age < MIN_AGE_SECONDS || age > MAX_AGE_SECONDS))
      throw badInput('max_session_age', `max_session_age is from ${MIN_AGE_SECONDS} to ${MAX_AGE_SECONDS}.`);
    if (prompt !== null && !PROMPTS.includes(prompt))
      throw badInput('prompt', 'prompt is login, select_account or consent.');
    await requireAuthentication(context, given, before?.confid);
    if (!before || before.providerid === row.providerid) return;
    const { confid } = before;
    // Locked, so that no identity is mapped meanwhile.
    await db.query('select from rowpost.oidc_config where confid = $1 for update', [confid]);
    const { rows } = await db.query('select from rowpost.role_oidc where confid = $1 limit 1', [confid]);
    if (rows.length === 0) return;
    throw new AppError('OIDC_CONFIG_IN_USE', `Roles are mapped through configuration ${confid}.`, {
      details: { field: 'providerid', confid },
    });
  },
  async afterWrite({ context: { db, deps, principal }, given, before, row }, key) {
    const confid = Number(key['confid']);
    if (given.with_key) {
      const { tenantid, roleid } = principal;
      await insertClientKey(db, deps.keyRing, { tenantid, confid, creatorid: roleid });
    }
    if (before && before.max_session_age !== row.max_session_age)
      await limitSessions(db, { confid, accessTokenSeconds: deps.config.accessTokenSeconds });
  },
  deleteDescription: 'Deletes the configuration and the identities mapped through it.',
});

/** Shorter, and people would sign in all day. Both are also checked by the table, as are the prompts. */
const MIN_AGE_SECONDS = 300;
const MAX_AGE_SECONDS = 31_536_000;
const PROMPTS = ['login', 'select_account', 'consent'];

/** With a secret or a key. Throws AppError BAD_USER_INPUT. */
async function requireAuthentication(
  { db, principal: { tenantid } }: ControlContext,
  { client_secret, with_key }: { readonly client_secret?: string | null; readonly with_key?: boolean | null },
  confid: number | undefined,
): Promise<void> {
  if (confid === undefined) {
    if (!with_key) requireValue(client_secret, 'client_secret');
    return;
  }
  if (with_key) throw badInput('with_key', 'create_oidc_key gives an existing configuration a key.');
  if (client_secret !== null && client_secret !== '') return;
  const { rows } = await db.query('select from rowpost.oidc_key where tenantid = $1 and confid = $2', [
    tenantid,
    confid,
  ]);
  if (rows.length === 0) requireValue(client_secret, 'client_secret');
}

/** Throws AppError BAD_USER_INPUT. */
async function requireConfigQuota({ db, principal: { tenantid } }: ControlContext): Promise<void> {
  const { rows } = await db.query('select from rowpost.oidc_config where tenantid = $1', [tenantid]);
  if (rows.length >= MAX_CONFIGS)
    throw badInput('providerid', `A tenant has at most ${MAX_CONFIGS} configurations.`);
}

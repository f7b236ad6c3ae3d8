import { GraphQLString } from 'graphql';
import { CREATED } from '../derive/columns.js';
import { requireUsableProvider } from '../derive/references.js';
import { ofOwnTenant } from '../derive/visibility.js';
import { controlObject } from '../derive/declaration.js';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
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
      input: 'Stored encrypted, never logged.',
      required: true,
      maxCharacters: 10_000,
      secret: true,
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
  async check({ context, before, row }) {
    const { db } = context;
    if (!before) await requireConfigQuota(context);
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
  deleteDescription: 'Deletes the configuration and the identities mapped through it.',
});

/** Throws AppError BAD_USER_INPUT. */
async function requireConfigQuota({ db, principal: { tenantid } }: ControlContext): Promise<void> {
  const { rows } = await db.query('select from rowpost.oidc_config where tenantid = $1', [tenantid]);
  if (rows.length >= MAX_CONFIGS)
    throw badInput('providerid', `A tenant has at most ${MAX_CONFIGS} configurations.`);
}

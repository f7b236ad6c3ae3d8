import { GraphQLString } from 'graphql';
import type { Principal } from '../../db/principal.js';
import { CREATED } from '../object/columns.js';
import { requireUsableProvider } from '../object/references.js';
import { ofOwnTenant } from '../object/visibility.js';
import { controlObject } from '../object/declaration.js';
import { denied } from '../permissions.js';

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
    },
    client_secret: {
      type: 'text',
      description: 'Returned by create_oidc_config only.',
      input: 'Stored encrypted, never logged.',
      required: true,
      secret: true,
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
  deleteDescription: 'Deletes the configuration and the identities mapped through it.',
});

/** Not for admins: whoever chooses the provider decides who can sign in, even as the root role. Throws AppError PERMISSION_DENIED. */
function requireRoot(principal: Principal): void {
  if (!principal.isRoot) throw denied("Only the tenant's root role may do this.");
}

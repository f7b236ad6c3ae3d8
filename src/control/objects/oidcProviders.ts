import { sql } from '../../db/sql/sql.js';
import { AppError } from '../../foundation/errors.js';
import { checkOidcUri } from '../oidc/checkOidcUri.js';
import { withEndpoints } from '../oidc/providerEndpoints.js';
import { badInput } from '../derive/badInput.js';
import { CREATED } from '../derive/columns.js';
import { requireKnownTenant } from '../derive/references.js';
import { ofOwnTenant } from '../derive/visibility.js';
import { controlObject, type Row } from '../derive/declaration.js';
import { isInstallationAdmin, requireInstallationAdmin } from '../permissions.js';

/** OIDC providers of the installation, for all tenants or for one. */
export const oidcProviders = controlObject({
  table: 'oidc_providers',
  label: 'provider',
  description:
    'OpenID Connect providers. Of a new one, the endpoints that are omitted come from the discovery document of its issuer, and the issuer is as that document spells it.',
  key: ['providerid'],
  ofTenant: false,
  columns: {
    providerid: { type: 'int4', required: true },
    name: { type: 'text', input: true, required: true, unique: true },
    auth_uri: { type: 'text', input: 'The authorization endpoint, where users sign in.', required: true },
    token_uri: {
      type: 'text',
      input: 'The token endpoint, which exchanges the code for an ID token.',
      required: true,
    },
    jwks_uri: { type: 'text', input: "URL of the provider's signing keys (JWKS).", required: true },
    comparison_field: {
      type: 'text',
      input: 'The claim of the ID token that identifies the user; `sub` if omitted.',
      fallback: 'sub',
      read: (claim: string) => claim || 'sub',
    },
    issuer: {
      type: 'text',
      input: "The `iss` of the provider's ID tokens; if omitted, that of its discovery document.",
      read: (issuer: string) => issuer || null,
    },
    end_session_uri: {
      type: 'text',
      input:
        "Where the provider signs people out (`end_session_endpoint`); if omitted, that of its discovery document. Empty: it doesn't.",
      read: (uri: string) => uri,
    },
    email_always_verified: {
      type: 'bool',
      input:
        'Whether addresses are trusted although the provider never sends email_verified; false if omitted.',
      fallback: false,
      nullMeansUnchanged: true,
    },
    tenantid: {
      type: 'int4',
      description: 'The only tenant that may use the provider; null if all may.',
      input: 'Omit it to let all tenants use the provider.',
      references: requireKnownTenant,
    },
    // The issuer from its discovery document. Null if none was found yet: then any issuer on the host of `auth_uri`.
    discovered_issuer: { type: 'text', internal: true, resetTo: null },
    // Where it says that people sign out.
    discovered_end_session_uri: { type: 'text', internal: true, resetTo: null },
    // Whether that document promises the parameter iss in callbacks.
    sends_iss: { type: 'bool', internal: true, resetTo: null },
    ...CREATED,
  },
  visible: (principal, row) =>
    isInstallationAdmin(principal) ? 'all' : sql`(${row}.tenantid is null or ${ofOwnTenant(principal, row)})`,
  mayChange: requireInstallationAdmin,
  complete: ({ context, given, before }) =>
    before ? given : withEndpoints(given, context.discoveredEndpoints),
  async check({ context: { db, deps }, before, row }) {
    for (const field of ['auth_uri', 'token_uri', 'jwks_uri'] as const) {
      checkOidcUri(row[field], field, deps.config);
    }
    if (row.end_session_uri) checkOidcUri(row.end_session_uri, 'end_session_uri', deps.config);
    if (!before || row.tenantid === null) return;
    // Whoever is about to use it holds it.
    await db.query('select from rowpost.oidc_providers where providerid = $1 for update', [
      before.providerid,
    ]);
    const { rows: others } = await db.query(
      'select from rowpost.oidc_config where providerid = $1 and tenantid <> $2 limit 1',
      [before.providerid, row.tenantid],
    );
    if (others.length > 0) {
      throw badInput('tenantid', 'Other tenants have configurations with this provider.');
    }
  },
  inUse: ({ providerid }) =>
    new AppError('OIDC_PROVIDER_IN_USE', `Configurations use the provider ${providerid}.`, {
      details: { providerid },
    }),
});

export type OidcProvider = Row<typeof oidcProviders>;

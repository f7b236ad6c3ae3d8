import { GraphQLBoolean, GraphQLNonNull, GraphQLString } from 'graphql';
import { inTransaction } from '../../db/pool/inTransaction.js';
import { isAnonymous, ANONYMOUS_LOGIN } from '../../db/roles/principal.js';
import { recordChange } from '../audit/recordChange.js';
import { ensureAnonymousRole } from '../roles/anonymousRole.js';
import { findLogin } from '../roles/roles.js';
import { readAnonymousLogins, setAnonymousLogins } from '../tenants/tenants.js';
import { AppError } from '../../foundation/errors.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField, ControlFields } from '../controlContext.js';
import { lockTenant } from '../lockTenant.js';
import { notFound } from '../derive/badInput.js';
import { denied, requireTenantAdmin } from '../permissions.js';
import { checkEmail } from '../email/checkEmail.js';
import { previewEmail } from '../email/previewEmail.js';
import { recentRows } from '../email/recentRows.js';
import { sentEmailField } from '../email/sentEmail.js';
import { templateNames } from '../email/templateNames.js';
import { tryEmailRule } from '../email/tryEmailRule.js';
import { explainEventField } from '../explain/explainEventField.js';
import { checkOidcConfig, tryOidcClaims } from '../oidc/setUpFields.js';
import { requireManageable } from '../roles/rolePermissions.js';
import { roleRightsField } from '../roles/roleRights.js';
import { sessionsField } from '../roles/sessions.js';
import { passwordSender } from '../tenants/passwordSender.js';
import { signInBrand } from '../tenants/signInBrand.js';
import { backlogField } from './backlog.js';
import { deliveryCountsField, installationStatisticsField, statisticsField } from './statistics.js';
import { tablesField } from './tables.js';

const introspect: ControlField<object> = {
  type: SCALARS.GenericScalar,
  description: "Reloads the tenant's tables now and returns the schema of /query: `{gql, json: {__schema}}`.",
  resolve: (_source, _args, context) => {
    let description = descriptions.get(context);
    if (!description) descriptions.set(context, (description = describe(context)));
    return description;
  },
};

/** Computed once for all aliases in a request, since a large schema takes a while. */
const descriptions = new WeakMap<ControlContext, Promise<object>>();

async function describe({ principal, deps }: ControlContext): Promise<object> {
  const schema = requireTenantAdmin(principal);
  await deps.engine.introspect(principal.tenantid, schema);
  const { sdl, introspectionJson } = await deps.engine.describe(principal.tenantid, schema);
  return { gql: sdl, json: JSON.parse(introspectionJson) as unknown };
}

const availableSchemasAndTables: ControlField<object> = {
  type: SCALARS.GenericScalar,
  description: "The names of the tenant's tables and views, by schema.",
  resolve: async (_source, _args, { principal, deps }) => {
    const schema = requireTenantAdmin(principal);
    const catalog = await deps.engine.catalog(principal.tenantid, schema);
    return { [schema]: [...catalog.tables.keys()] };
  },
};

const roleToken: ControlField<{ roleid: number }> = {
  type: GraphQLString,
  description:
    'An access token for a child role with no more rights than the caller; root may request one for any role of the tenant.',
  args: { roleid: { type: new GraphQLNonNull(SCALARS.Int) } },
  resolve: async (_source, { roleid }, context) => {
    const { principal, deps, options } = context;
    if (!options.issueToken) throw new Error('this process issues no tokens');
    if (isAnonymous(principal)) throw denied('Anonymous clients may not get tokens for roles.');
    const subject = await deps.principals.load(principal.tenantid, roleid);
    if (!subject) throw notFound('role', roleid);
    if (!principal.isRoot && subject.parentid !== principal.roleid) {
      throw denied('A role may only get tokens for its own children.', { roleid });
    }
    // Whoever has a role's token acts as it.
    await requireManageable(context, roleid);
    return options.issueToken(subject);
  },
};

/** A field of Query by contract although it makes changes; so only by POST, and in a transaction of its own. */
const anonymousLogins: ControlField<{ enable?: boolean | null }> = {
  type: SCALARS.Int,
  description:
    'The role of anonymous clients, who sign in without a password; null while anonymous sign-in is disabled. The root role passes `enable` to change it.',
  args: { enable: { type: GraphQLBoolean } },
  resolve: async (_source, { enable }, context) => {
    const { principal, db, deps, options } = context;
    requireTenantAdmin(principal);
    const { tenantid } = principal;
    if (enable == null) return readAnonymousRole(db, tenantid);
    if (!principal.isRoot) throw denied("Only the tenant's root role may change this.");
    if (!options.allowMutation) throw new AppError('METHOD_NOT_ALLOWED', 'Changes must be sent with POST.');
    await inTransaction(deps.database.pool, async (tx) => {
      await lockTenant(tx, tenantid);
      const was = await readAnonymousLogins(tx, tenantid);
      if (enable) await ensureAnonymousRole(tx, tenantid);
      await setAnonymousLogins(tx, tenantid, enable);
      await recordChange(tx, context, {
        object: 'tenant',
        operation: 'anonymous_logins',
        key: String(tenantid),
        before: { anonymous_logins: was },
        after: { anonymous_logins: enable },
      });
    });
    deps.principals.forget(tenantid);
    return readAnonymousRole(db, tenantid);
  },
};

/** The anonymous clients' role, while they may sign in. */
async function readAnonymousRole(db: ControlContext['db'], tenantid: number): Promise<number | null> {
  if ((await readAnonymousLogins(db, tenantid)) !== true) return null;
  return (await findLogin(db, tenantid, ANONYMOUS_LOGIN))?.roleid ?? null;
}

export const utilityQueries: ControlFields = {
  introspect,
  tables: tablesField,
  backlog: backlogField,
  statistics: statisticsField,
  delivery_counts: deliveryCountsField,
  installation_statistics: installationStatisticsField,
  role_rights: roleRightsField,
  sessions: sessionsField,
  role_token: roleToken,
  anonymous_logins: anonymousLogins,
  available_schemas_and_tables: availableSchemasAndTables,
  preview_email: previewEmail,
  sent_mail: sentEmailField,
  check_email: checkEmail,
  template_names: templateNames,
  recent_rows: recentRows,
  try_email_rule: tryEmailRule,
  explain_event: explainEventField,
  sign_in_brand: signInBrand,
  password_sender: passwordSender,
  check_oidc_config: checkOidcConfig,
  try_oidc_claims: tryOidcClaims,
};

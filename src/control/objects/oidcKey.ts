import { CREATED } from '../derive/columns.js';
import { controlObject } from '../derive/declaration.js';
import { badInput } from '../derive/badInput.js';
import { toAdmins } from '../derive/visibility.js';
import { insertClientKey, MAX_KEYS } from '../oidc/clientKeys.js';
import { requireConfig } from '../oidc/oidcMappings.js';
import { requireRoot, requireTenantAdmin } from '../permissions.js';

/** Keys of configurations. */
export const oidcKey = controlObject({
  table: 'oidc_key',
  label: 'key',
  description:
    'A key that a configuration authenticates with at its provider (`private_key_jwt`), instead of its client secret. Only the public part is ever shown.',
  key: ['kid'],
  columns: {
    kid: { type: 'text', required: true },
    confid: { type: 'int4', input: true, required: true, references: requireConfig },
    jwks_uri: {
      type: 'text',
      required: true,
      description: "Where the provider reads the configuration's public keys: register it there.",
      shown: (path: string, { deps }) => deps.config.baseUrl + path,
    },
    ...CREATED,
  },
  visible: toAdmins,
  mayList: requireTenantAdmin,
  mayChange: requireRoot,
  changes: ['create', 'delete'],
  async check({ context: { db, principal }, row }) {
    const { rows } = await db.query('select from rowpost.oidc_key where tenantid = $1 and confid = $2', [
      principal.tenantid,
      row.confid,
    ]);
    if (rows.length >= MAX_KEYS)
      throw badInput('confid', `A configuration has at most ${MAX_KEYS} keys: delete the older one first.`);
  },
  overrides: {
    async insert({ db, principal, deps }, { confid }) {
      const { tenantid, roleid } = principal;
      return { kid: await insertClientKey(db, deps.keyRing, { tenantid, confid, creatorid: roleid }) };
    },
  },
  deleteDescription:
    'Without keys, the configuration authenticates with its client secret again, if it has one.',
});

import { controlObject } from '../derive/declaration.js';
import { ofOwnTenant } from '../derive/visibility.js';
import { isInstallationAdmin, requireInstallationAdmin } from '../permissions.js';
import {
  updateTenantMutation,
  createTenantMutation,
  deleteTenantMutation,
} from '../tenants/tenantMutations.js';

/** Tenants: their tables, roles and emails are isolated from each other. */
export const tenant = controlObject({
  table: 'tenant',
  label: 'tenant',
  key: ['tenantid'],
  ofTenant: false,
  columns: {
    tenantid: { type: 'int4', required: true },
    name: { type: 'text', input: true, required: true, unique: true },
    schema: {
      type: 'text',
      description: "The PostgreSQL schema that holds the tenant's tables.",
      input: 'On creation only; `tenant_<tenantid>` if omitted.',
    },
    root_login: {
      type: 'text',
      input: "On creation only: login of the tenant's root role.",
      inputOnly: true,
    },
    root_password: {
      type: 'text',
      input: "On creation only: password of the tenant's root role.",
      inputOnly: true,
    },
    root_roleid: { type: 'int4' },
    suspended: {
      type: 'bool',
      description: 'Blocks all access to the tenant. Email for changes committed earlier is still sent.',
      input: 'On update only.',
      fallback: false,
    },
    createtime: { type: 'timestamptz', required: true },
  },
  visible: (principal, row) => (isInstallationAdmin(principal) ? 'all' : ofOwnTenant(principal, row)),
  mayChange: requireInstallationAdmin,
  overrides: { create: createTenantMutation, update: updateTenantMutation, delete: deleteTenantMutation },
  deleteDescription:
    'Deletes the tenant with its settings and files, and its tables unless its schema was adopted. Its events and deliveries, which nobody can read any more, stay for RETENTION_DAYS.',
});

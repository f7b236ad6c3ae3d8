import { GraphQLInputObjectType, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { requireStrongPassword } from '../roles/passwords.js';
import { createHashedTenant, deleteTenant, readTenant, renameTenant } from '../tenants/tenants.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import {
  badInput,
  listField,
  notFound,
  numericId,
  requireInput,
  requireValue,
  type ControlObject,
} from '../object/controlObject.js';
import { requireSaneText } from '../roles/makeRole.js';
import { requireInstallationAdmin } from '../permissions.js';
import { requireFreeLogin } from '../roles/rolePermissions.js';
import { StoredRow } from '../object/storedRow.js';

export const tenantType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'tenant',
  fields: {
    tenantid: { type: new GraphQLNonNull(ID) },
    name: { type: GraphQLString },
    schema: { type: GraphQLString, description: 'The PostgreSQL schema of its tables.' },
    root_roleid: { type: SCALARS.Int },
    createtime: { type: SCALARS.DateTime },
  },
});

const tenantInput = new GraphQLInputObjectType({
  name: 'tenantInput',
  fields: {
    name: { type: GraphQLString },
    schema: { type: GraphQLString, description: 'On creation; `tenant_<tenantid>` when left out.' },
    root_login: { type: GraphQLString, description: 'On creation.' },
    root_password: { type: GraphQLString, description: 'On creation.' },
  },
});

interface TenantInput {
  readonly name?: string | null;
  readonly schema?: string | null;
  readonly root_login?: string | null;
  readonly root_password?: string | null;
}

const input = { input: { type: tenantInput } };
const tenantid = { tenantid: { type: new GraphQLNonNull(ID) } };

export const tenant: ControlObject = {
  queries: { tenant: listField(tenantType, 'tenant') },
  mutations: {
    create_tenant: {
      type: tenantType,
      args: input,
      resolve: async (_source, args: { input?: TenantInput | null }, { principal, db, passwordHashes }) => {
        requireInstallationAdmin(principal);
        const values = requireInput(args);
        requireFreeLogin(values.root_login);
        const password = requireValue(values.root_password, 'root_password');
        requireSaneText(password);
        requireStrongPassword(password, [values.root_login, values.name]);
        const created = await createHashedTenant(db, {
          name: requireValue(values.name, 'name'),
          schema: values.schema ?? undefined,
          rootLogin: requireValue(values.root_login, 'root_login'),
          rootPasswordHash: passwordHashes.take(password),
        });
        return stored(db, created.tenantid);
      },
    },
    update_tenant: {
      type: tenantType,
      args: { ...tenantid, ...input },
      resolve: async (_source, args: { tenantid: string; input?: TenantInput | null }, { principal, db }) => {
        requireInstallationAdmin(principal);
        const { name, ...others } = requireInput(args);
        const fixed = Object.keys(others)[0];
        if (fixed !== undefined) throw badInput(fixed, `${fixed} is set on creation and stays.`);
        const id = numericId(args.tenantid, 'tenant');
        if (name !== undefined) await renameTenant(db, id, requireValue(name, 'name'));
        return stored(db, id);
      },
    },
    delete_tenant: {
      type: tenantType,
      args: tenantid,
      description: 'Deletes the tenant with its tables and all that it has stored.',
      resolve: async (_source, args: { tenantid: string }, { principal, db, deps, afterCommit }) => {
        requireInstallationAdmin(principal);
        const id = numericId(args.tenantid, 'tenant');
        const before = await stored(db, id);
        await deleteTenant(db, id);
        afterCommit.push(() => {
          deps.engine.forget(id);
          deps.principals.forget(id);
        });
        return before;
      },
    },
  },
};

async function stored(db: ControlContext['db'], tenantid: number): Promise<StoredRow> {
  const row = await readTenant(db, tenantid);
  if (!row) throw notFound('tenant', tenantid);
  return new StoredRow(row);
}

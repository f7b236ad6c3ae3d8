import { printSchema } from 'graphql';
import { withInstallation } from '../process/compose.js';
import { buildControlSchema } from '../control/controlSchema.js';
import { findTenantSchema } from '../db/tenants/tenantStorage.js';
import { UsageError } from '../foundation/errors.js';
import { ArgumentError, type Command } from './command.js';
import { readId, readOptions, readTenantId } from './options.js';

/** Prints the SDL of an endpoint, for code generators. */
export const schema: Command = async (args) => {
  const { endpoint = 'query', tenant, role } = readOptions(args, ['endpoint', 'tenant', 'role']);
  if (endpoint === 'roles_pbac') {
    if (tenant !== undefined || role !== undefined) {
      throw new ArgumentError('--endpoint roles_pbac is the same for all tenants and roles');
    }
    process.stdout.write(`${printSchema(buildControlSchema())}\n`);
    return 0;
  }
  if (endpoint !== 'query') throw new ArgumentError('--endpoint takes query or roles_pbac');
  const tenantid = readTenantId({ tenant });
  const roleid = role === undefined ? undefined : readId(role, '--role takes the id of a role');
  return withInstallation(async ({ database, openEngine, principals }) => {
    const tables = await findTenantSchema(database.pool, tenantid);
    const principal = roleid === undefined ? undefined : await principals.load(tenantid, roleid);
    if (roleid !== undefined && !principal) {
      throw new UsageError(`tenant ${tenantid} has no role ${roleid} that may sign in`);
    }
    const engine = await openEngine();
    const { sdl } = await engine.describe(tenantid, tables, principal);
    process.stdout.write(`${sdl}\n`);
  });
};

import { findTenantid } from '../../control/tenants/tenants.js';
import { readId } from '../http/readId.js';
import type { RouteDeps } from '../http/routeDeps.js';
import { textOf, type Values } from './formValues.js';

const MAX_TENANT_LENGTH = 200;

/** A tenant as people write it: its name or number. */
export const tenantIn = (values: Values): string => textOf(values, 'tenant', MAX_TENANT_LENGTH);

export async function findTenant(
  { database }: Pick<RouteDeps, 'database'>,
  tenant: string,
): Promise<number | undefined> {
  return readId(tenant) ?? (await findTenantid(database.pool, tenant));
}

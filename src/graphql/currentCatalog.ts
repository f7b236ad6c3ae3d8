import type { Catalog } from '../db/catalog/catalog.js';
import type { CatalogStore } from '../db/catalog/catalogStore.js';
import type { Principal } from '../db/roles/principal.js';
import { isStaleSchema } from '../db/sql/sqlState.js';
import { AppError, type ErrorCode } from '../foundation/errors.js';
import { FieldError } from './response.js';
import { DocumentError } from './document/document.js';

/** Errors that a stale catalog may cause. */
const UNKNOWN_NAMES: ReadonlySet<ErrorCode> = new Set([
  'GRAPHQL_VALIDATION',
  'UNKNOWN_TABLE',
  'FILTER_UNKNOWN_COLUMN',
  'EMAIL_QUERY_INVALID',
]);

/**
 * The tables may have changed since the catalog was read: a document or statement that does not match it is retried once
 * if there is a newer catalog. The failed attempt had no effect. Throws AppError TENANT_NOT_FOUND for the installation.
 */
export async function withCurrentCatalog<T>(
  catalogs: CatalogStore,
  { tenantid, schema }: Pick<Principal, 'tenantid' | 'schema'>,
  work: (catalog: Catalog) => T | Promise<T>,
): Promise<T> {
  if (schema === null) throw new AppError('TENANT_NOT_FOUND', 'The installation has no tables of its own.');
  const catalog = await catalogs.get(tenantid, schema);
  try {
    return await work(catalog);
  } catch (error) {
    const cause = error instanceof FieldError || error instanceof DocumentError ? error.error : error;
    const misfit = (cause instanceof AppError && UNKNOWN_NAMES.has(cause.code)) || isStaleSchema(cause);
    if (!misfit || !(await catalogs.recheck(tenantid, catalog))) throw error;
    return work(await catalogs.get(tenantid, schema));
  }
}

import type { LayoutSources } from '../../templates/index.js';
import type { ControlContext } from '../controlContext.js';

/** Which layouts a row's templates load, as it is stored. */
export interface LayoutUse {
  readonly layout_names: readonly string[] | null;
  readonly any_layout: boolean | null;
}

/**
 * Keeps the tenant's layouts, and what loads them, as they are until the transaction ends: each of the two is checked
 * against the other. A row, since tenants can hold advisory locks.
 */
export async function lockLayouts({ db, principal, isTransaction }: ControlContext): Promise<void> {
  if (!isTransaction) return;
  await db('rowpost.tenant').where({ tenantid: principal.tenantid }).forNoKeyUpdate().select('tenantid');
}

/** The sources of the tenant's layouts by name: all of them, or those that a row loads. */
export async function readLayoutSources(
  { db, principal }: ControlContext,
  use: LayoutUse = { layout_names: null, any_layout: true },
): Promise<LayoutSources> {
  const names = use.layout_names ?? [];
  if (!use.any_layout && names.length === 0) return {};
  const rows = db('rowpost.email_layouts').where({ tenantid: principal.tenantid });
  const found: { name: string; template: string }[] = await (
    use.any_layout ? rows : rows.whereIn('name', names)
  ).select('name', 'template');
  return Object.fromEntries(found.map(({ name, template }) => [name, template]));
}

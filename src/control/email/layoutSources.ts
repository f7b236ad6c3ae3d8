import type { LayoutSources } from 'rowpost-jinja2';
import type { ControlContext } from '../controlContext.js';

/** The stored record of which layouts a row's templates load. */
export interface LayoutUse {
  readonly layout_names: readonly string[] | null;
  readonly any_layout: boolean | null;
}

/** The sources of the tenant's layouts by name: all layouts, or those that a row loads. */
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

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
  const { rows } = await db.query<{ name: string; template: string }>(
    'select name, template from rowpost.email_layouts where tenantid = $1 and ($2::text[] is null or name = any ($2))',
    [principal.tenantid, use.any_layout ? null : names],
  );
  return Object.fromEntries(rows.map(({ name, template }) => [name, template]));
}

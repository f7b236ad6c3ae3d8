import type { LayoutSources, TemplateRequest } from 'rowpost-jinja2';
import { AppError } from '../../foundation/errors.js';
import type { ControlContext } from '../controlContext.js';
import { assignments, equalities, identifier, sql } from '../../db/sql/sql.js';
import { runSql } from '../../db/sql/statementRunner.js';
import { badInput } from '../derive/badInput.js';
import { readRow } from '../derive/rows.js';
import { emailTypes } from '../objects/emailTypes.js';
import { checkTemplates, templatesOf } from './checkTemplates.js';
import { readLayoutSources, type LayoutUse } from './layoutSources.js';

/** Maximum per tenant. All are loaded together if a template computes their names from data. */
const MAX_LAYOUTS = 200;
const MAX_LAYOUT_CHARACTERS = 1_000_000;

interface Layout {
  readonly name: string;
  readonly template: string;
}

/** Throws AppError TEMPLATE_SYNTAX, EMAIL_LAYOUT_IN_USE if it is renamed, BAD_USER_INPUT if the tenant's layouts become too many or too large. */
export async function checkEmailLayout(change: {
  readonly context: ControlContext;
  readonly before: Layout | undefined;
  readonly row: Layout;
}): Promise<LayoutUse> {
  const { context, before, row } = change;
  const others = without(before?.name, await readLayoutSources(context));
  const layouts = { ...others, [row.name]: row.template };
  requireQuota(layouts);
  if (before && before.name !== row.name) await requireUnused(context, before.name);
  return checkTemplates(context, [requestOf(row)], layouts);
}

function requireQuota(layouts: LayoutSources): void {
  const sources = Object.values(layouts);
  if (sources.length > MAX_LAYOUTS)
    throw badInput('name', `A tenant has at most ${MAX_LAYOUTS} email layouts.`);
  if (sources.reduce((sum, { length }) => sum + length, 0) > MAX_LAYOUT_CHARACTERS)
    throw badInput('template', `A tenant's email layouts have at most ${MAX_LAYOUT_CHARACTERS} characters.`);
}

function requestOf({ template }: Layout): TemplateRequest {
  return { name: 'template', source: template, syntax: 'jinja2', mode: 'html', isLayout: true };
}

/**
 * Called after a change of layouts: checks everything that loads them, and creates new versions of the email types among
 * it, by which workers notice the change. Throws AppError TEMPLATE_SYNTAX with the name of what the change would break.
 */
export async function checkDependents(context: ControlContext, names: readonly string[]): Promise<void> {
  await checkWith(context, names, await readLayoutSources(context));
}

/** Called before a layout is deleted. Throws AppError EMAIL_LAYOUT_IN_USE. */
export async function requireNoDependents(context: ControlContext, name: string): Promise<void> {
  await requireUnused(context, name);
  await checkWith(context, [name], without(name, await readLayoutSources(context)));
}

function without(name: string | undefined, sources: LayoutSources): LayoutSources {
  return Object.fromEntries(Object.entries(sources).filter(([other]) => other !== name));
}

async function requireUnused(context: ControlContext, name: string): Promise<void> {
  const { types, layouts } = await findDependents(context, [name]);
  const user =
    types.find(({ layout_names }) => layout_names?.includes(name))?.email_type ??
    layouts.find((layout) => layout.name !== name && layout.layout_names?.includes(name))?.name;
  if (user === undefined) return;
  throw new AppError('EMAIL_LAYOUT_IN_USE', `"${user}" uses the email layout "${name}".`, {
    details: { name, used_by: user },
  });
}

async function checkWith(
  context: ControlContext,
  names: readonly string[],
  sources: LayoutSources,
): Promise<void> {
  const { tenantid } = context.principal;
  const { types, layouts } = await findDependents(context, names);
  const checked: { readonly table: string; readonly key: object; readonly use: LayoutUse }[] = [];
  // One by one, because together they may not fit into memory.
  for (const { email_type } of types) {
    const key = { tenantid, email_type };
    const type = await readRow(context.db, emailTypes, key);
    if (!type) continue;
    const owner = { label: `email type "${email_type}"`, details: { email_type } };
    const use = await checkTemplates(context, templatesOf(type), sources, owner);
    checked.push({ table: 'email_types', key, use });
  }
  for (const layout of layouts.filter(({ name }) => Object.hasOwn(sources, name))) {
    const { name } = layout;
    const owner = { label: `email layout "${name}"`, details: { name } };
    const use = await checkTemplates(context, [requestOf(layout)], sources, owner);
    checked.push({ table: 'email_layouts', key: { tenantid, name }, use });
  }
  for (const { table, key, use } of checked) {
    await runSql(
      context.db,
      sql`update ${identifier('rowpost', table)} set ${assignments({ ...use })} where ${equalities({ ...key })}`,
    );
  }
}

async function findDependents({ db, principal }: ControlContext, names: readonly string[]) {
  const { tenantid } = principal;
  const { rows: types } = await db.query<LayoutUse & { readonly email_type: string }>(
    `select email_type, layout_names from rowpost.email_types
     where tenantid = $1 and (any_layout or layout_names && $2::text[])`,
    [tenantid, names],
  );
  const { rows: layouts } = await db.query<Layout & LayoutUse>(
    `select name, template, layout_names, any_layout from rowpost.email_layouts
     where tenantid = $1 and (any_layout or layout_names && $2::text[])`,
    [tenantid, names],
  );
  return { types, layouts };
}

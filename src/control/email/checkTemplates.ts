import type { LayoutSources, TemplateRequest } from 'rowpost-jinja2';
import { fieldsOf, type EmailField } from '../../email/emailFields.js';
import { placeOf } from '../../email/renderFields.js';
import { AppError } from '../../foundation/errors.js';
import type { EmailType } from '../../db/email/emailTypes.js';
import type { ControlContext } from '../controlContext.js';
import type { LayoutUse } from './layoutSources.js';

/** Every templated field of an email type. */
export function templatesOf(type: EmailType): readonly TemplateRequest[] {
  const { filters, ...fields } = fieldsOf(type);
  return [...Object.values(fields).flat(), ...filters]
    .filter((field) => field !== undefined)
    .map((field: EmailField) => ({ ...field, syntax: type.syntax }));
}

/**
 * Compiles templates with the layouts that they load. Throws AppError TEMPLATE_SYNTAX with field, line and column, and the
 * layout if the error is in one.
 * @param owner what the templates belong to, if that is not what is being saved
 */
export async function checkTemplates(
  { principal, deps }: ControlContext,
  templates: readonly TemplateRequest[],
  layouts: LayoutSources,
  owner?: { readonly label: string; readonly details: Readonly<Record<string, string>> },
): Promise<LayoutUse> {
  const outcomes = await deps.templates.check({ templates, layouts, tenantid: principal.tenantid });
  const names = new Set<string>();
  let isAny = false;
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.ok) {
      for (const name of outcome.uses.names) names.add(name);
      isAny ||= outcome.uses.any;
      continue;
    }
    const { error } = outcome;
    const { message, line, column, hint, sourceLine, layout } = error;
    const field = templates[index]?.name ?? '';
    const place = placeOf(field, error);
    throw new AppError('TEMPLATE_SYNTAX', `${owner ? `${owner.label}: ` : ''}${place}: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
      details: {
        ...owner?.details,
        field,
        line,
        column,
        source_line: sourceLine,
        ...(layout === undefined ? {} : { layout }),
      },
    });
  }
  return { layout_names: [...names].sort(), any_layout: isAny };
}

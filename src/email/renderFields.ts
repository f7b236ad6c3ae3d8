import type { RenderOutcome, TemplatePool } from 'rowpost-jinja2';
import type { EmailType } from '../db/email/emailTypes.js';
import { EmailProblem } from './email.js';
import { isTemplated, type EmailField } from './emailFields.js';

/** A field's rendered text. */
export type TextOf = (field: EmailField) => string;

export interface Rendered {
  readonly textOf: TextOf;
  /** The plain text derived from a field `withPlainText`. */
  readonly plainTextOf: (field: EmailField) => string | undefined;
}

/** Renders fields in one job, so that the context is sent to its process once. Throws EmailProblem. */
export async function renderFields(
  templates: Pick<TemplatePool, 'render'>,
  tenantid: number,
  { syntax, undefined: missing, layouts }: Pick<EmailType, 'syntax' | 'undefined' | 'layouts'>,
  contextJson: string,
  fields: readonly (EmailField | undefined)[],
): Promise<Rendered> {
  const rendered = fields.filter((field) => field !== undefined).filter(holdsTemplate);
  if (rendered.length === 0) return { textOf: (field) => field.source, plainTextOf: () => undefined };
  const outcomes = await templates.render({
    tenantid,
    contextJson,
    layouts: layouts ?? undefined,
    templates: rendered.map((field) => ({ ...field, syntax, strict: missing === 'strict' })),
  });
  const outputs = new Map<EmailField, RenderOutcome & { readonly ok: true }>();
  for (const [index, outcome] of outcomes.entries()) {
    const field = rendered[index];
    if (!field) throw new Error('the pool rendered more than it was given');
    if (!outcome.ok) throw problemOf(field, outcome.error);
    outputs.set(field, outcome);
  }
  return {
    textOf: (field) => outputs.get(field)?.output ?? field.source,
    plainTextOf: (field) => outputs.get(field)?.plainText,
  };
}

/** Whether there is anything to render. The document itself always is, for its plain text. */
function holdsTemplate({ mode, source }: EmailField): boolean {
  return mode === 'html' || isTemplated(source);
}

interface TemplateFailure {
  readonly message: string;
  readonly line: number;
  readonly column: number;
  readonly hint?: string;
  readonly layout?: string;
}

function problemOf({ name }: EmailField, failure: TemplateFailure): EmailProblem {
  const { message, line, column, hint } = failure;
  return new EmailProblem('failed', {
    code: 'TEMPLATE_FAILED',
    message: `${placeOf(name, failure)}: ${message}`,
    field: name,
    line,
    column,
    ...(hint === undefined ? {} : { hint }),
  });
}

/** Describes where a template failed; if in a layout, the line is the layout's. */
export function placeOf(field: string, { line, column, layout }: Omit<TemplateFailure, 'message'>): string {
  return `${field}, ${layout === undefined ? '' : `layout "${layout}", `}line ${line}, column ${column}`;
}

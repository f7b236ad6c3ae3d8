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

type RenderOptions = Pick<EmailType, 'syntax' | 'undefined' | 'layouts'>;

/** Renders fields in one job, so that the context is sent to its process once. Throws EmailProblem. */
export async function renderFields(
  templates: Pick<TemplatePool, 'render'>,
  tenantid: number,
  options: RenderOptions,
  contextJson: string,
  fields: readonly (EmailField | undefined)[],
): Promise<Rendered> {
  const outputs = new Map<EmailField, RenderOutcome & { readonly ok: true }>();
  for (const [field, outcome] of await renderEach(templates, tenantid, options, contextJson, fields)) {
    if (!outcome.ok) throw problemOf(field, outcome.error);
    outputs.set(field, outcome);
  }
  return {
    textOf: (field) => outputs.get(field)?.output ?? field.source,
    plainTextOf: (field) => outputs.get(field)?.plainText,
  };
}

/** Renders fields whose failures don't matter. @returns undefined for a field that failed */
export async function renderPossible(
  templates: Pick<TemplatePool, 'render'>,
  tenantid: number,
  options: RenderOptions,
  contextJson: string,
  fields: readonly EmailField[],
): Promise<(field: EmailField) => string | undefined> {
  const outcomes = await renderEach(templates, tenantid, options, contextJson, fields);
  return (field) => {
    const outcome = outcomes.get(field);
    if (!outcome) return field.source;
    return outcome.ok ? outcome.output : undefined;
  };
}

/** @returns the outcomes of those that hold a template */
async function renderEach(
  templates: Pick<TemplatePool, 'render'>,
  tenantid: number,
  { syntax, undefined: missing, layouts }: RenderOptions,
  contextJson: string,
  fields: readonly (EmailField | undefined)[],
): Promise<ReadonlyMap<EmailField, RenderOutcome>> {
  const rendered = fields.filter((field) => field !== undefined).filter(holdsTemplate);
  if (rendered.length === 0) return new Map();
  const outcomes = await templates.render({
    tenantid,
    contextJson,
    layouts: layouts ?? undefined,
    templates: rendered.map((field) => ({ syntax, strict: missing === 'strict', ...field })),
  });
  return new Map(
    outcomes.map((outcome, index) => {
      const field = rendered[index];
      if (!field) throw new Error('the pool rendered more than it was given');
      return [field, outcome];
    }),
  );
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

import type { Addresses, EmailTypeValues } from '../../db/control/emailTypes.js';
import { AppError } from '../../errors.js';
import type { TemplateRequest } from '../../templates/index.js';
import { parseOrdering } from '../ordering/parseOrdering.js';
import type { ControlContext } from './controlContext.js';

/**
 * Compiles every templated field and validates every query, so that what is saved can be sent.
 * Throws AppError TEMPLATE_SYNTAX and EMAIL_QUERY_INVALID with field, line and column, ORDERING_INVALID with field.
 */
export async function checkEmailType(
  { principal, deps }: ControlContext,
  schema: string,
  type: EmailTypeValues,
): Promise<void> {
  const templates = templatesOf(type);
  const outcomes = await deps.templates.check(templates);
  for (const [index, outcome] of outcomes.entries()) {
    if (outcome.ok) continue;
    const { message, line, column, hint, sourceLine } = outcome.error;
    const field = templates[index]?.name ?? '';
    throw new AppError('TEMPLATE_SYNTAX', `${field}, line ${line}, column ${column}: ${message}`, {
      ...(hint === undefined ? {} : { hint }),
      details: { field, line, column, source_line: sourceLine },
    });
  }
  for (const [index, { query, ordering }] of type.queries.entries()) {
    await inField(`queries[${index}].query`, () =>
      deps.engine.checkEmailQuery(principal.tenantid, schema, query),
    );
    await inField(`queries[${index}].ordering`, () => parseOrdering(ordering ?? []));
  }
}

/** Every field of the type that the worker renders, by the name that errors show. */
function templatesOf(type: EmailTypeValues): readonly TemplateRequest[] {
  const { syntax, options } = type;
  const template = (name: string, source: string, mode: TemplateRequest['mode']): TemplateRequest => ({
    name,
    source,
    syntax,
    mode,
  });
  const addresses = (field: string, given: Addresses | null | undefined): readonly TemplateRequest[] => {
    if (given == null) return [];
    if (typeof given === 'string') return [template(field, given, 'json')];
    return given.map((item, index) => template(`${field}[${index}]`, item, 'text'));
  };
  return [
    template('template', type.template, 'html'),
    template('subject', type.subject, 'text'),
    template('sender', type.sender, 'text'),
    ...addresses('recipients', type.recipients),
    ...addresses('options.cc', options.cc),
    ...addresses('options.bcc', options.bcc),
    ...type.queries.flatMap(({ filter }, index) =>
      filter === null ? [] : [template(`queries[${index}].filter`, filter, 'filter')],
    ),
  ];
}

/** Names the field in what a check throws. */
async function inField(field: string, check: () => unknown): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { code, message, hint, details } = error;
    throw new AppError(code, message, { hint, details: { ...details, field }, cause: error });
  }
}

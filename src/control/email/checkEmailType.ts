import { mayLoadLayouts } from 'rowpost-jinja2';
import type { EmailType } from '../../db/email/emailTypes.js';
import { parseAddresses, parseOneAddress } from '../../email/addresses.js';
import { isTemplated } from '../../email/emailFields.js';
import { isBusy } from '../../email/transientErrors.js';
import { AppError } from '../../foundation/errors.js';
import { parseOrdering } from '../../graphql/ordering/parseOrdering.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import type { EmailQuery } from './emailTypeParts.js';
import { requireSchema } from '../permissions.js';
import { checkFilter, type QueryCheck } from './checkStoredQuery.js';
import { checkTemplates, templatesOf } from './checkTemplates.js';
import { readLayoutSources, type LayoutUse } from './layoutSources.js';

type CheckedEmailType = Omit<EmailType, 'queries'> & { readonly queries: readonly EmailQuery[] };

/**
 * Compiles every templated field and validates every query, so that anything saved can be sent.
 * Throws AppError TEMPLATE_SYNTAX, EMAIL_QUERY_INVALID and FILTER_… with field, line and column, ORDERING_INVALID with field.
 * @returns the layouts that its templates load
 */
export async function checkEmailType(context: ControlContext, type: CheckedEmailType): Promise<LayoutUse> {
  const { principal, deps } = context;
  const schema = requireSchema(principal);
  const templates = templatesOf(type);
  const loads = templates.some(({ source }) => mayLoadLayouts(source));
  const use = await checkTemplates(context, templates, loads ? await readLayoutSources(context) : {});
  requireSender(type.sender);
  requireReplyTo(type.reply_to);
  if (type.unsubscribe !== 'none') requireOneRecipient(type.recipients);
  const check: QueryCheck = (query) => deps.engine.checkEmailQuery(principal.tenantid, schema, query);
  for (const [index, { query, filter, ordering }] of type.queries.entries()) {
    await inField(`queries[${index}].query`, () => check({ query }));
    await inField(`queries[${index}].filter`, () => checkFilter(query, filter, check));
    await inField(`queries[${index}].ordering`, () => parseOrdering(ordering ?? []));
  }
  return use;
}

/** A templated sender is validated when it is rendered. Throws AppError BAD_USER_INPUT. */
function requireSender(sender: string): void {
  if (!isTemplated(sender) && !parseOneAddress(sender))
    throw badInput('sender', 'sender must be one address, as in "Shop <shop@example.com>".');
}

/** A templated one is validated when it is rendered. Throws AppError BAD_USER_INPUT. */
function requireReplyTo(replyTo: string | null | undefined): void {
  if (replyTo == null || isTemplated(replyTo)) return;
  const { valid, invalid } = parseAddresses(replyTo);
  if (valid.length === 0 || invalid.length > 0)
    throw badInput('reply_to', 'reply_to must contain only addresses.');
}

/** A templated list is validated when it is rendered. Throws AppError BAD_USER_INPUT. */
function requireOneRecipient(recipients: CheckedEmailType['recipients']): void {
  if (typeof recipients === 'string' || recipients.length <= 1) return;
  throw badInput(
    'recipients',
    'An email with an unsubscribe link must have exactly one recipient, whom the link unsubscribes.',
  );
}

/** Adds the field to the error that a check throws. */
async function inField(field: string, check: () => unknown): Promise<void> {
  try {
    await check();
  } catch (error) {
    // That checks have to wait is nobody's mistake.
    if (!(error instanceof AppError) || isBusy(error)) throw error;
    throw error.withDetails({ ...error.details, field });
  }
}

import type { EmailType } from '../../db/delivery/emailTypes.js';
import type { EmailFailure } from '../../email/email.js';
import { AppError } from '../../errors.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../object/badInput.js';
import type { Row } from '../object/declaration.js';
import { readValues } from '../object/readValues.js';
import { findRow } from '../object/rows.js';
import { emailTypes } from '../objects/emailTypes.js';
import { readLayoutSources, type LayoutUse } from './layoutSources.js';

/** The input of `create_email_type` or `update_email_type`. */
export type Draft = Readonly<Record<string, unknown>>;

export type ReadType = EmailType & Pick<Row<typeof emailTypes>, 'queries'>;

type Read =
  { readonly ok: true; readonly type: ReadType } | { readonly ok: false; readonly failure: EmailFailure };

/**
 * The email type that a request names or gives as a draft, checked as it would be when saved. What is wrong with a draft
 * is a value. Throws AppError NOT_FOUND, BAD_USER_INPUT for a request with neither.
 */
export async function readEmailType(
  context: ControlContext,
  { email_type, input }: { readonly email_type?: string | null; readonly input?: Draft | null },
): Promise<Read> {
  if (email_type == null && input == null) throw badInput('email_type', 'Give email_type, input, or both.');
  const saved = email_type == null ? undefined : await findRow(context, emailTypes, { email_type });
  if (input == null) return { ok: true, type: await withLayouts(context, saved as SavedType) };
  try {
    const change = { context, before: saved, given: saved ? input : { email_type: 'draft', ...input } };
    const { checked } = await readValues(emailTypes, change);
    return { ok: true, type: await withLayouts(context, checked.row as unknown as SavedType) };
  } catch (error) {
    if (!(error instanceof AppError) || typeof error.details['field'] !== 'string') throw error;
    return { ok: false, failure: failureOf(error) };
  }
}

type SavedType = ReadType & LayoutUse;

async function withLayouts(context: ControlContext, type: SavedType): Promise<ReadType> {
  return { ...type, layouts: await readLayoutSources(context, type) };
}

function failureOf({ code, message, hint, details }: AppError): EmailFailure {
  const { field, line, column } = details;
  return {
    code,
    message,
    hint,
    field: String(field),
    ...(typeof line === 'number' && typeof column === 'number' ? { line, column } : {}),
  };
}

import type { GraphQLFieldConfigArgumentMap } from 'graphql';
import type { EmailType } from '../../db/email/emailTypes.js';
import type { EmailFailure } from '../../email/email.js';
import { variantNames } from '../../email/variantNames.js';
import { AppError } from '../../foundation/errors.js';
import { ID } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import type { Row } from '../derive/declaration.js';
import { inputType } from '../derive/objectTypes.js';
import { readValues } from '../derive/readValues.js';
import { findRow } from '../derive/rows.js';
import { emailTypes } from '../objects/emailTypes.js';
import { readLayoutSources, type LayoutUse } from './layoutSources.js';
import { requireOwnDraft } from './wording.js';

/** Input of `create_email_type` or `update_email_type`. */
export type Draft = Readonly<Record<string, unknown>>;

/** Arguments that say which email type a field is about. */
export const DRAFT_ARGS = {
  email_type: { type: ID, description: 'Name of a saved email type.' },
  input: {
    type: inputType(emailTypes),
    description: 'An unsaved draft: a complete email type, or changes to `email_type`.',
  },
} satisfies GraphQLFieldConfigArgumentMap;

export interface DraftArgs {
  readonly email_type?: string | null;
  readonly input?: Draft | null;
}

export type ReadType = EmailType & Pick<Row<typeof emailTypes>, 'queries'>;

type Read =
  | { readonly ok: true; readonly name: string; readonly type: ReadType }
  | { readonly ok: false; readonly failure: EmailFailure };

/**
 * The email type that a request names or provides as a draft, checked as it would be when saved. Errors of a draft are
 * returned as values. Throws AppError NOT_FOUND, PERMISSION_DENIED for a draft with more than wording, or BAD_USER_INPUT for a request with neither.
 */
export async function readEmailType(
  context: ControlContext,
  { email_type, input }: DraftArgs,
): Promise<Read> {
  if (email_type == null && input == null) throw badInput('email_type', 'Give email_type, input, or both.');
  requireOwnDraft(context.principal, { email_type, input });
  const saved = email_type == null ? undefined : await findRow(context, emailTypes, { email_type });
  if (input == null) {
    return { ok: true, name: email_type ?? '', type: await withLayouts(context, saved as SavedType) };
  }
  try {
    const change = { context, before: saved, given: saved ? input : { email_type: 'draft', ...input } };
    const { checked } = await readValues(emailTypes, change);
    const { row } = checked;
    return {
      ok: true,
      name: String(row.email_type),
      type: await withLayouts(context, row as unknown as SavedType),
    };
  } catch (error) {
    if (!(error instanceof AppError) || typeof error.details['field'] !== 'string') throw error;
    return { ok: false, failure: failureOf(error) };
  }
}

/** The variant of an email type for a locale, found as for deliveries. */
export async function findVariant(
  context: ControlContext,
  emailType: string,
  locale: string,
): Promise<ReadType | undefined> {
  const { db, principal } = context;
  const names = variantNames(emailType, locale).map((name) => name.toLowerCase());
  const { rows } = await db.query<{ email_type: string }>(
    `select email_type from rowpost.email_types where tenantid = $1 and lower(email_type) = any ($2::text[])
     order by array_position($2, lower(email_type)), email_type limit 1`,
    [principal.tenantid, names],
  );
  const [first] = rows;
  if (!first) return undefined;
  return withLayouts(context, await findRow(context, emailTypes, first));
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

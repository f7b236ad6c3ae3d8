import { GraphQLBoolean, GraphQLNonNull } from 'graphql';
import { ID } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField, ControlFields } from '../controlContext.js';
import { requireInput } from '../derive/badInput.js';
import { inputType } from '../derive/objectTypes.js';
import { emailTypes } from '../objects/emailTypes.js';
import { requireEmailEditor } from '../permissions.js';
import { findRow } from '../derive/rows.js';
import type { Draft } from './readEmailType.js';
import { readPlainName } from './emailTypeParts.js';
import { deleteDraft, readDraft, saveDraft } from './emailTypeHistory.js';
import { requireOnlyWording } from './wording.js';

const email_type = {
  type: new GraphQLNonNull(ID),
  description: 'Name of the email type. For admins it need not exist yet.',
};

const saveEmailDraft: ControlField<{ readonly email_type: string; readonly input?: Draft | null }> = {
  type: GraphQLBoolean,
  description:
    'Saves the draft of an email type, one per name, as version 0 of `email_type_version`. It is not validated and sends nothing; saving the email type deletes it.',
  args: { email_type, input: { type: inputType(emailTypes) } },
  resolve: async (_source, args, context) => {
    requireEmailEditor(context.principal);
    const name = readPlainName(args.email_type, 'email_type');
    await saveDraft(context, name, await draftOf(context, name, requireInput(args)));
    return true;
  },
};

/** What a draft holds besides wording stays as an admin left it. Throws AppError PERMISSION_DENIED, NOT_FOUND. */
async function draftOf(context: ControlContext, email_type: string, given: object): Promise<object> {
  if (context.principal.isAdmin) return given;
  requireOnlyWording(context.principal, given);
  await findRow(context, emailTypes, { email_type });
  return { ...(await readDraft(context, email_type)), ...given };
}

const deleteEmailDraft: ControlField<{ readonly email_type: string }> = {
  type: GraphQLBoolean,
  description: 'Deletes the draft of an email type. Returns whether there was one.',
  args: { email_type },
  resolve: (_source, args, context) => {
    requireEmailEditor(context.principal);
    return deleteDraft(context, args.email_type);
  },
};

export const emailDrafts: ControlFields = {
  save_email_draft: saveEmailDraft,
  delete_email_draft: deleteEmailDraft,
};

import { GraphQLBoolean, GraphQLNonNull, type GraphQLFieldConfig } from 'graphql';
import { ID } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { requireInput } from '../derive/badInput.js';
import type { ControlFields } from '../derive/objectFields.js';
import { inputType } from '../derive/objectTypes.js';
import { emailTypes } from '../objects/emailTypes.js';
import { requireTenantAdmin } from '../permissions.js';
import type { Draft } from './readEmailType.js';
import { readPlainName } from './emailTypeParts.js';
import { deleteDraft, saveDraft } from './emailTypeHistory.js';

const email_type = {
  type: new GraphQLNonNull(ID),
  description: 'Name of the email type, which need not exist yet.',
};

const saveEmailDraft: GraphQLFieldConfig<
  unknown,
  ControlContext,
  { readonly email_type: string; readonly input?: Draft | null }
> = {
  type: GraphQLBoolean,
  description:
    'Saves the draft of an email type, one per name, as version 0 of `email_type_version`. It is not validated and sends nothing; saving the email type deletes it.',
  args: { email_type, input: { type: inputType(emailTypes) } },
  resolve: async (_source, args, context) => {
    requireTenantAdmin(context.principal);
    await saveDraft(context, readPlainName(args.email_type, 'email_type'), requireInput(args));
    return true;
  },
};

const deleteEmailDraft: GraphQLFieldConfig<unknown, ControlContext, { readonly email_type: string }> = {
  type: GraphQLBoolean,
  description: 'Deletes the draft of an email type. Returns whether there was one.',
  args: { email_type },
  resolve: (_source, args, context) => {
    requireTenantAdmin(context.principal);
    return deleteDraft(context, args.email_type);
  },
};

export const emailDrafts: ControlFields = {
  save_email_draft: saveEmailDraft,
  delete_email_draft: deleteEmailDraft,
};

import { GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { BUILTIN_NAMES } from 'rowpost-jinja2';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { findRow } from '../derive/rows.js';
import { emailTypes } from '../objects/emailTypes.js';
import { requireEmailEditor } from '../permissions.js';
import { namesOfSettings } from './checkEmail.js';
import { findTable } from './currentRow.js';
import { DRAFT_ARGS, type DraftArgs, type ReadType } from './readEmailType.js';
import { contextPaths } from './missingNames.js';
import { requireOwnDraft } from './wording.js';

const names = (description: string) => ({
  type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(GraphQLString))),
  description,
});

const namesType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'template_names',
  fields: {
    context: names(
      'Variable paths such as `records.new.total`; those of list items are written `orders.customer.name`.',
    ),
    functions: names('Global functions such as `range`.'),
    filters: names('Filters, used after `|`.'),
    tests: names('Tests, used after `is`.'),
  },
});

interface NamesArgs extends DraftArgs {
  readonly target?: string | null;
}

/** `Utility.template_names`. Throws AppError PERMISSION_DENIED, NOT_FOUND, UNKNOWN_TABLE. */
export const templateNames: ControlField<NamesArgs> = {
  type: new GraphQLNonNull(namesType),
  description: 'The names that the templates of an email type can use, for autocompletion in an editor.',
  args: {
    email_type: DRAFT_ARGS.email_type,
    input: {
      type: DRAFT_ARGS.input.type,
      description: 'An unsaved draft, which may be incomplete: an email type, or changes to `email_type`.',
    },
    target: { type: GraphQLString, description: 'The table whose rows are `records.new` and `records.old`.' },
  },
  resolve: async (_source, { email_type, input, target }, context) => {
    const schema = requireEmailEditor(context.principal);
    requireOwnDraft(context.principal, { email_type, input });
    const saved = email_type == null ? {} : await findRow(context, emailTypes, { email_type });
    const type = { ...saved, ...input } as Partial<ReadType>;
    const table = target == null ? undefined : (await findTable(context, schema, target)).table;
    const paths = contextPaths(type.queries ?? [], table, namesOfSettings(type));
    const { principal, deps } = context;
    return { ...BUILTIN_NAMES, context: await deps.engine.planning.run(planOwnerOf(principal), paths) };
  },
};

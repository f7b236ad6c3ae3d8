import { GraphQLList, GraphQLString } from 'graphql';
import type { EmailFailure } from '../../email/email.js';
import { planOwnerOf } from '../../graphql/plan/planOwner.js';
import type { Steps } from '../../graphql/steps.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { readRows } from '../derive/rows.js';
import { emailRule } from '../objects/emailRule.js';
import { requireEmailEditor, requireSchema } from '../permissions.js';
import { templatesOf } from './checkTemplates.js';
import { emailErrorType } from './emailErrorType.js';
import { DRAFT_ARGS, readEmailType, type DraftArgs, type ReadType } from './readEmailType.js';
import { absentFiles } from './absentFiles.js';
import { missingNames } from './missingNames.js';
import { unusedFilters } from './unusedFilters.js';

interface CheckArgs extends DraftArgs {
  readonly target?: string | null;
}

/** Read-only. */
export const checkEmail: ControlField<CheckArgs> = {
  type: new GraphQLList(emailErrorType),
  description:
    'Checks an email type. Returns the error of a draft, or warnings: names that neither the tables of its rules nor its queries have, filters without effect, and a file that no operation of its rules provides.',
  args: {
    ...DRAFT_ARGS,
    target: { type: GraphQLString, description: 'Table to check against, instead of those of the rules.' },
  },
  resolve: async (_source, args, context) => {
    requireEmailEditor(context.principal);
    const read = await readEmailType(context, args);
    const changes = await changesOf(context, args);
    return read.ok ? warningsOfType(context, read.type, changes) : [read.failure];
  },
};

/** The changes that emails of a type are about; all when empty. */
export interface Changes {
  readonly targets: readonly string[];
  readonly operations: readonly string[];
}

/**
 * Warnings about missing names, unused filters and absent files. Templates that don't compile were rejected earlier.
 */
export async function warningsOfType(
  context: ControlContext,
  type: ReadType,
  { targets, operations }: Changes,
): Promise<readonly EmailFailure[]> {
  const { principal, deps } = context;
  const schema = requireSchema(principal);
  const job = { templates: templatesOf(type), layouts: type.layouts ?? undefined };
  const outcomes = await deps.templates.check({ ...job, tenantid: principal.tenantid });
  const reads = outcomes.flatMap((outcome, index) =>
    outcome.ok ? outcome.reads.map((read) => ({ ...read, field: job.templates[index]?.name ?? '' })) : [],
  );
  const catalog = await deps.engine.catalog(principal.tenantid, schema);
  const inSteps = <T>(steps: Steps<T>): Promise<T> => deps.engine.planning.run(planOwnerOf(principal), steps);
  return [
    ...(await inSteps(unusedFilters(type.queries))),
    ...absentFiles(type.attachments ?? [], operations),
    ...(await inSteps(missingNames(reads, type.queries, catalog, targets, namesOfSettings(type)))),
  ];
}

/** Names that an email type's own settings add to the context of its templates. */
export function namesOfSettings({
  unsubscribe,
  locale,
}: Partial<Pick<ReadType, 'unsubscribe' | 'locale'>>): readonly string[] {
  return [
    ...(unsubscribe == null || unsubscribe === 'none' ? [] : ['unsubscribe_url']),
    ...(locale == null ? [] : ['locale']),
  ];
}

/** Those of the saved type's rules, or of the given table. */
async function changesOf(
  { db, principal }: ControlContext,
  { email_type, target }: CheckArgs,
): Promise<Changes> {
  const rules =
    email_type == null ? [] : await readRows(db, emailRule, { tenantid: principal.tenantid, email_type });
  return {
    targets: target == null ? [...new Set(rules.flatMap(({ targets }) => targets))] : [target],
    operations: rules.flatMap(({ operations }) => operations),
  };
}

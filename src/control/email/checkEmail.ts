import { GraphQLList, GraphQLString, type GraphQLFieldConfig } from 'graphql';
import type { EmailFailure } from '../../email/email.js';
import { ID } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { inputType } from '../object/objectTypes.js';
import { readRows } from '../object/rows.js';
import { StoredRow } from '../object/storedRow.js';
import { emailRule } from '../objects/emailRule.js';
import { emailTypes } from '../objects/emailTypes.js';
import { requireTenantAdmin } from '../permissions.js';
import { templatesOf } from './checkTemplates.js';
import { emailErrorType } from './emailErrorType.js';
import { readEmailType, type Draft, type ReadType } from './readEmailType.js';
import { missingNames } from './missingNames.js';
import { unusedFilters } from './unusedFilters.js';

interface CheckArgs {
  readonly email_type?: string | null;
  readonly input?: Draft | null;
  readonly target?: string | null;
}

/** Read-only. */
export const checkEmail: GraphQLFieldConfig<unknown, ControlContext, CheckArgs> = {
  type: new GraphQLList(emailErrorType),
  description:
    'What is wrong with an email type, and what may be: names that neither the tables of its rules nor its queries have.',
  args: {
    email_type: { type: ID, description: 'A saved email type.' },
    input: {
      type: inputType(emailTypes),
      description: 'A draft, which is not saved: a whole email type, or what changes of `email_type`.',
    },
    target: { type: GraphQLString, description: 'A table, in place of those of the rules.' },
  },
  resolve: async (_source, args, context) => {
    requireTenantAdmin(context.principal);
    const read = await readEmailType(context, args);
    const targets = args.target == null ? await targetsOf(context, args.email_type) : [args.target];
    const problems = read.ok ? await warningsOfType(context, read.type, targets) : [read.failure];
    return problems.map((problem) => new StoredRow(problem));
  },
};

/** Warnings about missing names and unused filters. Templates that don't compile were rejected earlier. */
export async function warningsOfType(
  context: ControlContext,
  type: ReadType,
  targets: readonly string[],
): Promise<readonly EmailFailure[]> {
  const { principal, deps } = context;
  const schema = requireTenantAdmin(principal);
  const job = { templates: templatesOf(type), layouts: type.layouts ?? undefined };
  const outcomes = await deps.templates.check({ ...job, tenantid: principal.tenantid });
  const reads = outcomes.flatMap((outcome, index) =>
    outcome.ok ? outcome.reads.map((read) => ({ ...read, field: job.templates[index]?.name ?? '' })) : [],
  );
  const catalog = await deps.engine.catalog(principal.tenantid, schema);
  return [
    ...unusedFilters(type.queries),
    ...missingNames(reads, type.queries, catalog, targets, namesOfSettings(type)),
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

async function targetsOf(
  { db, principal }: ControlContext,
  emailType: string | null | undefined,
): Promise<readonly string[]> {
  if (emailType == null) return [];
  const rules = await readRows(db, emailRule, { tenantid: principal.tenantid, email_type: emailType });
  return [...new Set(rules.flatMap(({ targets }) => targets))];
}

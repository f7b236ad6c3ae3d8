import { GraphQLBoolean, GraphQLList, GraphQLNonNull, GraphQLObjectType, GraphQLString } from 'graphql';
import { findEvent, type TriggeringEvent } from '../../db/outbox/recentEvents.js';
import { RECORD_TOO_LARGE } from '../../db/outbox/recordSize.js';
import { EmailProblem, type EmailTrigger } from '../../email/email.js';
import { AppError } from '../../foundation/errors.js';
import { parseJson } from '../../foundation/json/losslessJson.js';
import { ownValue } from '../../foundation/ownValue.js';
import { ID, SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput, bigintId, notFound, requireValue } from '../derive/badInput.js';
import { checkAll } from '../derive/checkAll.js';
import { inputType } from '../derive/objectTypes.js';
import { readValue, readValues } from '../derive/readValues.js';
import { requireKnownRoles } from '../derive/references.js';
import { findRow } from '../derive/rows.js';
import { emailRule } from '../objects/emailRule.js';
import { requireTenantAdmin } from '../permissions.js';
import { emailRuleChecks } from './checkEmailRule.js';
import { composeFor } from './composeOnRequest.js';
import { emailErrorType } from './emailErrorType.js';
import { previewType, toPreview } from './previewEmail.js';
import { findOtherRules, tryRule, type OtherRule, type Trial, type TriedRule } from './tryRule.js';

const text = { type: new GraphQLNonNull(GraphQLString) };
const count = { type: new GraphQLNonNull(SCALARS.Int) };

const matchType = new GraphQLObjectType<Trial['matches'][number], ControlContext>({
  name: 'email_rule_match',
  fields: {
    eventid: { type: new GraphQLNonNull(ID) },
    time: { type: new GraphQLNonNull(SCALARS.DateTime) },
    operation: text,
    target: { ...text, description: 'The table.' },
    key: { type: SCALARS.GenericScalar, resolve: ({ key }) => readKey(key) },
  },
});

const otherType = new GraphQLObjectType<
  OtherRule & { readonly matched: () => Promise<number> },
  ControlContext
>({
  name: 'email_rule_other',
  fields: {
    ruleid: { type: new GraphQLNonNull(ID) },
    name: text,
    email_type: text,
    matched: { ...count, description: 'How many of the matched changes this rule matches as well.' },
  },
});

/** Steps are only taken for the fields that are selected. */
interface Source {
  readonly trial: () => Promise<Trial>;
  readonly others: () => Promise<readonly OtherRule[]>;
  readonly given: Given;
}

const trialType = new GraphQLObjectType<Source, ControlContext>({
  name: 'email_rule_trial',
  fields: {
    changes: {
      ...count,
      description:
        'Kept changes of these kinds to these tables that the rule was compared with; at most the latest 200.',
      resolve: async ({ trial }) => (await trial()).changes,
    },
    matched: { ...count, resolve: async ({ trial }) => (await trial()).matched },
    failed: {
      ...count,
      description: 'Changes for which the condition could not be evaluated.',
      resolve: async ({ trial }) => (await trial()).failed,
    },
    failure: {
      type: GraphQLString,
      description: 'Why it could not be evaluated for the first of them.',
      resolve: async ({ trial }) => (await trial()).failure,
    },
    since: {
      type: SCALARS.DateTime,
      description: 'Time of the oldest change that was compared.',
      resolve: async ({ trial }) => (await trial()).since,
    },
    has_more: {
      type: new GraphQLNonNull(GraphQLBoolean),
      description: 'Whether there are, or may be, older changes.',
      resolve: async ({ trial }) => (await trial()).hasMore,
    },
    searched_since: {
      type: SCALARS.DateTime,
      description: 'Changes before this time were not searched; null if all were, or 200 were found.',
      resolve: async ({ trial }) => (await trial()).searchedSince,
    },
    retention_days: {
      ...count,
      description: 'How long changes are kept.',
      resolve: (_source, _args, { deps }) => deps.config.retentionDays,
    },
    matches: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(matchType))),
      description: 'The latest changes that matched, at most 10.',
      resolve: async ({ trial }) => (await trial()).matches,
    },
    other_rules: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(otherType))),
      description:
        'Enabled rules that may send for the same changes, at most 20. Those whose conditions obviously exclude this one are left out.',
      resolve: async ({ others, trial }) =>
        (await others()).map((other) => ({
          ...other,
          matched: async () => (await trial()).shared.get(other.ruleid) ?? 0,
        })),
    },
    preview: {
      type: previewType,
      description:
        'The email for one of the changes, the latest that matched if omitted, as a delivery would compose it; null if none matched.',
      args: { eventid: { type: ID } },
      resolve: async ({ trial, given }, { eventid }: { readonly eventid?: string | null }, context) => {
        const chosen = eventid ?? (await trial()).matches[0]?.eventid;
        return chosen === undefined ? null : context.serialize(() => previewFor(context, given, chosen));
      },
    },
    problems: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(emailErrorType))),
      description: 'All that is wrong with the rule, so that saving it would be refused.',
      resolve: ({ given }, _args, context) => context.serialize(() => problemsOf(context, given)),
    },
  },
});

interface TryArgs {
  readonly ruleid?: string | null;
  readonly input?: Values | null;
}
type Values = Readonly<Record<string, unknown>>;

interface Given {
  readonly schema: string;
  readonly input: Values;
  readonly before: Awaited<ReturnType<typeof findSaved>>;
}

/** Read-only. */
export const tryEmailRule: ControlField<TryArgs> = {
  type: new GraphQLNonNull(trialType),
  description:
    'Compares a rule, saved or not, with the latest changes that are kept, as a worker would, and sends nothing.',
  args: {
    ruleid: { type: ID, description: 'A saved rule.' },
    input: { type: inputType(emailRule), description: 'An unsaved rule, or changes to the saved one.' },
  },
  resolve: async (_source, { ruleid, input }, context): Promise<Source> => {
    const schema = requireTenantAdmin(context.principal);
    if (ruleid == null && input == null) throw badInput('input', 'Give ruleid, input, or both.');
    const given = { schema, input: input ?? {}, before: await findSaved(context, ruleid) };
    const rule = once(() => readRule(context, given));
    const others = once(async () => {
      const tried = await rule();
      const { deps, principal } = context;
      return context.serialize(async () =>
        findOtherRules(context, await deps.engine.catalog(principal.tenantid, schema), tried),
      );
    });
    const trial = once(async () => {
      const [tried, found] = [await rule(), await others()];
      const { composing, principal } = context;
      return context.serialize(() =>
        composing.run(principal.tenantid, () => tryRule(context, schema, tried, found)),
      );
    });
    return { trial, others, given };
  },
};

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= work());
}

async function findSaved(context: ControlContext, ruleid: string | null | undefined) {
  return ruleid == null
    ? undefined
    : findRow(context, emailRule, { ruleid: bigintId(ruleid, emailRule.label) });
}

/** What has to be right to try a rule. Throws AppError, for all of it at once. */
async function readRule(context: ControlContext, { input, before }: Given): Promise<TriedRule> {
  const { operations, targets, condition } = emailRule.columns;
  const all: Values = { ...before, ...input };
  const read = new Map<string, unknown>();
  const readColumns = Object.entries({ operations, targets, condition }).map(
    ([name, column]) =>
      [name, () => read.set(name, readValue(column, ownValue(all, name), name, context))] as const,
  );
  const row = (): Partial<TriedRule> => Object.fromEntries(read);
  await checkAll(
    (function* () {
      yield* readColumns;
      const checks = emailRuleChecks({ context, before: undefined, row: row() });
      yield* checks.filter(([name]) => name === 'targets' || name === 'condition');
    })(),
  );
  return { ...(row() as Omit<TriedRule, 'ruleid'>), ruleid: before && String(before.ruleid) };
}

async function problemsOf(context: ControlContext, { input, before }: Given): Promise<readonly object[]> {
  try {
    await readValues(emailRule, { context, given: input, before });
    return [];
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error;
    const { code, message, hint, details } = error;
    const { fields, messages, hints } = details as Readonly<Record<string, readonly string[] | undefined>>;
    if (!fields) return [{ code, message, hint, ...details }];
    return fields.map((field, index) => ({
      ...(index === 0 ? { ...details, code } : {}),
      field,
      message: messages?.[index],
      hint: hints?.[index],
    }));
  }
}

/** Composes with the rule's email type and role, for the change as it was made. */
async function previewFor(context: ControlContext, given: Given, eventid: string): Promise<object> {
  const all: Values = { ...given.before, ...given.input };
  await checkAll([
    ['email_type', () => requireValue(all['email_type'], 'email_type')],
    ['query_roleid', () => requireValue(all['query_roleid'], 'query_roleid')],
  ]);
  const { tenantid } = context.principal;
  const queryRoleid = all['query_roleid'] as number;
  const rule = await readRule(context, given);
  const composed = await composeFor(
    context,
    { email_type: all['email_type'] as string },
    async (reservation) => {
      await requireKnownRoles(context, queryRoleid, 'query_roleid');
      const event = await findEvent(
        context.deps.database.pool,
        { tenantid, ...rule },
        bigintId(eventid, 'change'),
      );
      if (!event) throw notFound('change', eventid);
      const refusal = reservation.reserve((event.old?.length ?? 0) + (event.new?.length ?? 0));
      if (refusal) throw refusal;
      return { tenantid, queryRoleid, ...triggerOf(event) };
    },
  );
  return toPreview(composed, () => Promise.resolve([]));
}

function triggerOf(event: TriggeringEvent): Omit<EmailTrigger, 'tenantid' | 'queryRoleid'> {
  const { eventid, storedTime, operation, target, old, file, isTooLarge } = event;
  if (isTooLarge) throw new EmailProblem('failed', { code: 'EVENT_TOO_LARGE', message: RECORD_TOO_LARGE });
  return { event: { eventid, time: storedTime }, operation, target, old, new: event.new, file };
}

/** A tenant's own code may have written what is no JSON to people. */
function readKey(key: string | null): unknown {
  try {
    return key === null ? null : parseJson(key);
  } catch {
    return key;
  }
}

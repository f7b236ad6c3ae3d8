import { GraphQLString, type GraphQLFieldConfigArgumentMap } from 'graphql';
import type { ResponseReservation } from '../../db/pool/responseBudget.js';
import type { EmailType } from '../../db/email/emailTypes.js';
import { composeEmail, type Composed } from '../../email/composeEmail.js';
import { EmailProblem, type EmailTrigger } from '../../email/email.js';
import { unsubscribePreviewUrl } from '../../email/unsubscribeLink.js';
import { isJsonObject, writeJson } from '../../foundation/json/losslessJson.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import { OPERATIONS, unknownOperation } from './checkEmailRule.js';
import { requireKnownRoles } from '../derive/references.js';
import type { ControlContext } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { readCurrentRow, readNewestFile } from './currentRow.js';
import { denied, requireEmailEditor } from '../permissions.js';
import { DRAFT_ARGS, findVariant, readEmailType, type DraftArgs } from './readEmailType.js';

/** Arguments of `preview_email` and `send_test_email`: which email, about which row, with whose permissions. */
export const COMPOSE_ARGS: GraphQLFieldConfigArgumentMap = {
  ...DRAFT_ARGS,
  target: { type: GraphQLString, description: 'Name of the table.' },
  key: {
    type: SCALARS.GenericScalar,
    description:
      'Key of a row of the table: an object of values by column, or the bare value of a single-column key. If omitted, the last row in key order.',
  },
  operation: {
    type: GraphQLString,
    description: 'Operation to simulate: insert (default), update, delete or upload.',
  },
  context: {
    type: SCALARS.GenericScalar,
    description:
      'Template context, instead of a row: an object with `records: { new, old }` and any other names.',
  },
  query_roleid: {
    type: SCALARS.Int,
    description:
      "The role that runs the email type's queries; the caller's own if omitted. Only admins may name another one.",
  },
};

export interface ComposeArgs extends DraftArgs {
  readonly target?: string | null;
  readonly key?: unknown;
  readonly operation?: string | null;
  readonly context?: unknown;
  readonly query_roleid?: number | null;
}

/**
 * Composes an email as a delivery would, for those who write emails. Only admins choose whose permissions count: others see what
 * they may read themselves. Throws AppError for invalid arguments; errors of the email type are part of the result.
 */
export async function composeOnRequest(context: ControlContext, args: ComposeArgs): Promise<Composed> {
  const schema = requireEmailEditor(context.principal);
  return composeFor(context, args, (reservation) => readTrigger(context, schema, args, reservation));
}

/**
 * The same for any trigger.
 * @param readTriggerOf gets a reservation, which counts the row until the email is composed
 */
export async function composeFor(
  context: ControlContext,
  type: DraftArgs,
  readTriggerOf: (reservation: ResponseReservation) => Promise<EmailTrigger>,
): Promise<Composed> {
  const { principal, deps, composing, values } = context;
  return composing.run(principal.tenantid, async () => {
    // It would find no room in the response.
    values.requireAll();
    const read = await readEmailType(context, type);
    if (!read.ok) return { kind: 'failed', failure: read.failure, queries: [] };
    const reservation = deps.engine.responses.open(principal.tenantid);
    try {
      return await compose(context, await readTriggerOf(reservation), read);
    } catch (error) {
      if (!(error instanceof EmailProblem)) throw error;
      return { kind: error.kind, failure: error.failure, queries: [] };
    } finally {
      reservation.release();
    }
  });
}

function compose(
  context: ControlContext,
  trigger: EmailTrigger,
  read: { readonly type: EmailType; readonly name: string },
): Promise<Composed> {
  const { deps } = context;
  return composeEmail(
    {
      engine: deps.engine,
      templates: deps.templates,
      principals: deps.principals,
      baseUrl: deps.config.baseUrl,
      now: () => deps.clock.now(),
    },
    trigger,
    read.type,
    {
      // A preview must not unsubscribe the recipient of the row.
      unsubscribeUrl: () => unsubscribePreviewUrl(deps.config.baseUrl),
      variant: (locale) => findVariant(context, read.name, locale),
    },
  );
}

async function readTrigger(
  context: ControlContext,
  schema: string,
  args: ComposeArgs,
  reservation: ResponseReservation,
): Promise<EmailTrigger> {
  const { principal } = context;
  const { tenantid } = principal;
  const queryRoleid = args.query_roleid ?? principal.roleid;
  if (queryRoleid !== principal.roleid && !principal.isAdmin)
    throw denied("Only the tenant's root role and admins may choose whose permissions count.", {
      field: 'query_roleid',
    });
  await requireKnownRoles(context, [queryRoleid], 'query_roleid');
  const what = args.context == null ? await fromRow(context, schema, args, reservation) : fromContext(args);
  return { tenantid, queryRoleid, ...what };
}

type What = Omit<EmailTrigger, 'tenantid' | 'queryRoleid'>;

/** Uses the current row as the result of an insert, as the row removed by a delete, or as both sides of an update. */
async function fromRow(
  context: ControlContext,
  schema: string,
  { target, key, operation }: ComposeArgs,
  reservation: ResponseReservation,
): Promise<What> {
  if (target == null)
    throw badInput(
      'target',
      'Give target, and the key of its row unless it is the last one. Or give context.',
    );
  const done = readOperation(operation);
  const row = await readCurrentRow(context, schema, target, key, reservation);
  return {
    operation: done,
    target,
    new: done === 'delete' ? null : row,
    old: done === 'insert' ? null : row,
    file: done === 'upload' ? await readNewestFile(context, schema, target, key, reservation) : null,
  };
}

function fromContext({ context, target, key, operation }: ComposeArgs): What {
  if (key != null) throw badInput('context', 'Give target and key, or context, not both.');
  const { records, ...further } = requireObject(context, 'context');
  const given = records == null ? {} : requireObject(records, 'context.records');
  return {
    operation: readOperation(operation ?? textOf(further['operation'])),
    target: target ?? textOf(further['target']) ?? null,
    new: recordOf(given['new'], 'context.records.new'),
    old: recordOf(given['old'], 'context.records.old'),
    further,
  };
}

function readOperation(given: string | null | undefined): string {
  const operation = given ?? 'insert';
  if (!OPERATIONS.includes(operation)) throw unknownOperation(operation, 'operation');
  return operation;
}

function recordOf(value: unknown, field: string): string | null {
  return value == null ? null : writeJson(requireObject(value, field));
}

function requireObject(value: unknown, field: string): Readonly<Record<string, unknown>> {
  if (isJsonObject(value)) return value;
  throw badInput(field, `${field} must be an object.`);
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

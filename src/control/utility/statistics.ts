import {
  GraphQLFloat,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  type GraphQLFieldConfig,
  type GraphQLScalarType,
} from 'graphql';
import {
  readActivities,
  readDeliveryCounts,
  readDeliveryFigures,
  readTenantFigures,
  type DeliveryFigures,
} from '../../db/ledger/deliveryFigures.js';
import { readProcesses, type Process } from '../../db/pool/connectedProcesses.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { badInput } from '../derive/badInput.js';
import { requireDeliveryViewer, requireInstallationAdmin } from '../permissions.js';

const MAX_DAYS = 31;
const MAX_ACTIVITIES = 100;
const MAX_TENANTS = 50;

type ItemType =
  GraphQLScalarType | GraphQLObjectType<unknown, ControlContext> | GraphQLObjectType<Process, ControlContext>;

const required = (type: GraphQLScalarType) => new GraphQLNonNull(type);
const listOf = (type: ItemType) => new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(type)));
const count = (description?: string) => ({
  type: required(SCALARS.Int),
  ...(description && { description }),
});
const text = (description?: string) => ({
  type: required(GraphQLString),
  ...(description && { description }),
});
const time = (description: string) => ({ type: SCALARS.DateTime, description });

const statusFields = { status: text('As in `email_delivery`.'), deliveries: count() };

const countType = (name: string, fields: object = {}) =>
  new GraphQLObjectType<unknown, ControlContext>({ name, fields: { ...statusFields, ...fields } });

const statusCountType = countType('status_count');

const causeType = countType('cause_count', {
  error_code: text('Empty if there is none, as for what was reported after it was sent.'),
});

const activityType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'delivery_activity',
  fields: {
    name: text('The email type, or the ruleid.'),
    deliveries: count(),
    newest: { ...time('The hour of the newest delivery.'), type: required(SCALARS.DateTime) },
    statuses: { type: listOf(statusCountType) },
    days: { type: listOf(SCALARS.Int), description: 'How many on each day of the period, oldest first.' },
  },
});

type Period = DeliveryFigures & { readonly periodDays: number };
interface ActivityArgs {
  readonly names?: readonly string[] | null;
  readonly limit: number;
}

const activities = (
  by: 'email_type' | 'ruleid',
): GraphQLFieldConfig<Period, ControlContext, ActivityArgs> => ({
  type: listOf(activityType),
  description: `By ${by}: those with most deliveries, at most ${MAX_ACTIVITIES}.`,
  args: {
    names: { type: new GraphQLList(new GraphQLNonNull(GraphQLString)), description: 'Only these.' },
    limit: { type: SCALARS.Int, defaultValue: 10 },
  },
  resolve: ({ periodDays: days }, { names, limit }, context) => {
    requireWithin('limit', limit, MAX_ACTIVITIES);
    if (by === 'ruleid' && names?.some((name) => !/^\d{1,18}$/.test(name)))
      throw badInput('names', 'The name of a rule is its ruleid, a number.');
    return read(context, () =>
      readActivities(context.db, context.principal.tenantid, by, { days, names, limit }),
    );
  },
});

const statisticsType = new GraphQLObjectType<Period, ControlContext>({
  name: 'statistics',
  description:
    "Figures of the tenant's deliveries. Days and hours are UTC, of the change that triggered the delivery.",
  fields: () => ({
    counted: time(
      'Everything committed by then is counted; null before the first time. Usually seconds ago.',
    ),
    since: time('The beginning of the period, at midnight.'),
    compared_until: time('When the current hour began. `compared` and `before` are counted up to here.'),
    statuses: {
      type: listOf(
        countType('status_figure', {
          compared: count('Without the current hour.'),
          before: count('As many days earlier, in the same hours as `compared`.'),
        }),
      ),
    },
    times: {
      type: listOf(countType('time_count', { time: { type: required(SCALARS.DateTime) } })),
      description: 'By hour for one day, otherwise by day.',
    },
    carriers: { type: listOf(countType('carrier_count', { carrier: text() })) },
    causes: {
      type: listOf(causeType),
      description: 'What failed, was held back, waits for another attempt, bounced or complained.',
    },
    email_types: activities('email_type'),
    rules: activities('ruleid'),
    accepted_p50_seconds: {
      type: GraphQLFloat,
      description:
        'Half of the emails were accepted by the carrier within this time after the change, to within five percent. Without those sent again by hand.',
    },
    accepted_p95_seconds: { type: GraphQLFloat, description: 'The same for 95 %.' },
    late: count('Deliveries scheduled or being sent since before the last full hour, however old.'),
  }),
});

/** `Utility.statistics`. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT. */
export const statisticsField: ControlField<{ days: number }> = {
  type: new GraphQLNonNull(statisticsType),
  description: 'How many emails were sent, delivered, bounced and so on, for roles that may see deliveries.',
  args: {
    days: {
      type: SCALARS.Int,
      defaultValue: 1,
      description: `Today and the days before it, 1 to ${MAX_DAYS}.`,
    },
  },
  resolve: async (_source, { days }, { principal, db, connections }): Promise<Period> => {
    requireDeliveryViewer(principal);
    requireWithin('days', days, MAX_DAYS);
    const { tenantid } = principal;
    const figures = await connections.run(tenantid, () => readDeliveryFigures(db, tenantid, days));
    return { ...figures, periodDays: days };
  },
};

const countsType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'delivery_counts',
  fields: () => ({
    counted: time('As in `statistics`.'),
    causes: {
      type: listOf(causeType),
      description: 'All deliveries of the period, by status and error code.',
    },
  }),
});

interface CountsArgs {
  readonly since?: string | null;
  readonly until?: string | null;
}

/** `Utility.delivery_counts`. Throws AppError PERMISSION_DENIED, BAD_USER_INPUT. */
export const deliveryCountsField: ControlField<CountsArgs> = {
  type: new GraphQLNonNull(countsType),
  description:
    'How many deliveries there are of each status and cause, without reading them: from counts by the hour of the change, kept for 62 days.',
  args: {
    since: time('The hour in which it lies counts as a whole.'),
    until: time('The same; not given: until now.'),
  },
  resolve: (_source, { since, until }, { principal, db, connections }) => {
    requireDeliveryViewer(principal);
    const period = { since: timeOf('since', since), until: timeOf('until', until) };
    return connections.run(principal.tenantid, () => readDeliveryCounts(db, principal.tenantid, period));
  },
};

function timeOf(field: string, given: string | null | undefined): string | null {
  if (given == null) return null;
  const ms = /^\d{4}-/.test(given) ? Date.parse(given) : NaN;
  if (!Number.isNaN(ms)) return new Date(ms).toISOString();
  throw badInput(field, `${field} is not a time, such as 2026-01-31T09:00:00Z.`);
}

const processType = new GraphQLObjectType<Process, ControlContext>({
  name: 'installation_process',
  description: 'Processes of one kind and version on one computer, by their connections to PostgreSQL.',
  fields: {
    name: text('web, relay, worker, all, or a command such as demo.'),
    version: { type: GraphQLString },
    address: { type: GraphQLString, description: 'Null for a Unix socket. Behind a pooler, its address.' },
    since: time('The start of the oldest connection.'),
    connections: count(),
  },
});

const tenantFiguresType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'tenant_figures',
  fields: {
    tenantid: count(),
    name: text(),
    deliveries: count(),
    statuses: { type: listOf(statusCountType) },
  },
});

const installationType = new GraphQLObjectType<object, ControlContext>({
  name: 'installation_statistics',
  fields: {
    tenants: {
      type: listOf(tenantFiguresType),
      description: `Since midnight (UTC): the ${MAX_TENANTS} tenants with most deliveries.`,
      resolve: (_source, _args, context) => read(context, () => readTenantFigures(context.db, MAX_TENANTS)),
    },
    processes: {
      type: listOf(processType),
      resolve: (_source, _args, context) => read(context, () => readProcesses(context.db)),
    },
  },
});

/** `Utility.installation_statistics`. Throws AppError PERMISSION_DENIED. */
export const installationStatisticsField: ControlField = {
  type: new GraphQLNonNull(installationType),
  description: 'Which tenants send most, and which processes run. Only for admins of the installation.',
  resolve: (_source, _args, { principal }) => {
    requireInstallationAdmin(principal);
    return {};
  },
};

/** One after the other, within the tenant's connections. */
function read<T>({ serialize, connections, principal }: ControlContext, work: () => Promise<T>): Promise<T> {
  return serialize(() => connections.run(principal.tenantid, work));
}

function requireWithin(field: string, given: number, max: number): void {
  if (given >= 1 && given <= max) return;
  throw badInput(field, `${field} must be from 1 to ${max}.`);
}

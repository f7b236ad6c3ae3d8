import { GraphQLFloat, GraphQLList, GraphQLNonNull, GraphQLObjectType } from 'graphql';
import { readBacklog, type Backlog } from '../../db/outbox/backlog.js';
import { oldestSeconds } from '../../db/ledger/backlogAlarm.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext, ControlField } from '../controlContext.js';
import { requireInstallationAdmin } from '../permissions.js';

const count = (description: string) => ({ type: new GraphQLNonNull(SCALARS.Int), description });

const tenantBacklogType = new GraphQLObjectType<Backlog['tenants'][number], ControlContext>({
  name: 'tenant_backlog',
  fields: {
    tenantid: { type: new GraphQLNonNull(SCALARS.Int) },
    waiting: { type: new GraphQLNonNull(SCALARS.Int) },
  },
});

const backlogType = new GraphQLObjectType<unknown, ControlContext>({
  name: 'backlog',
  description: 'Work that is committed but not sent yet, by stage. Counts stop at some tens of thousands.',
  fields: {
    events: count('Committed events that no relay has read yet.'),
    batches: count('Batches of events that have not been evaluated against the rules yet.'),
    waiting: count('Deliveries that are ready to be sent, or are being sent.'),
    retries: count('Deliveries whose retry is due.'),
    later: count('Deliveries scheduled for later: backing off, or waiting for a rate limit.'),
    paused: count('Deliveries of tenants whose sending is paused until they have a valid key or credit.'),
    oldest_seconds: {
      type: GraphQLFloat,
      description:
        'How long the oldest item counted in events, batches (but those of tenants at their rate limit), waiting and retries has waited, in seconds; null if there is none.',
    },
    tenants: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(tenantBacklogType))),
      description: 'The ten tenants with the largest backlog.',
    },
  },
});

/** `Utility.backlog`. Throws AppError PERMISSION_DENIED. */
export const backlogField: ControlField = {
  type: backlogType,
  description: 'Work of all tenants that is committed but not sent yet. Only for admins of the installation.',
  resolve: async (_source, _args, { principal, deps }) => {
    requireInstallationAdmin(principal);
    const backlog = await readBacklog(deps.database.ledger);
    const { unreadEvents: events, openBatches: batches } = backlog;
    return { ...backlog, events, batches, oldest_seconds: oldestSeconds(backlog) };
  },
};

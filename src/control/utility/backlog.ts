import {
  GraphQLFloat,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  type GraphQLFieldConfig,
} from 'graphql';
import { oldestSeconds, readBacklog, type Backlog } from '../../db/delivery/backlog.js';
import { SCALARS } from '../../graphql/schema/scalars.js';
import type { ControlContext } from '../controlContext.js';
import { requireInstallationAdmin } from '../permissions.js';

const count = (
  of: 'unreadEvents' | 'openBatches' | 'waiting' | 'retries' | 'later' | 'paused',
  description: string,
): GraphQLFieldConfig<Backlog, ControlContext> => ({
  type: new GraphQLNonNull(SCALARS.Int),
  description,
  resolve: (source) => source[of],
});

const tenantBacklogType = new GraphQLObjectType<Backlog['tenants'][number], ControlContext>({
  name: 'tenant_backlog',
  fields: {
    tenantid: { type: new GraphQLNonNull(SCALARS.Int) },
    waiting: { type: new GraphQLNonNull(SCALARS.Int) },
  },
});

const backlogType = new GraphQLObjectType<Backlog, ControlContext>({
  name: 'backlog',
  description: 'What is committed and not sent yet, by where it waits. Counts end at 20,000.',
  fields: {
    events: count('unreadEvents', 'Committed events that no relay has read.'),
    batches: count('openBatches', 'Batches of events whose rules have not been evaluated.'),
    waiting: count('waiting', 'Deliveries that can be sent now, or are being sent.'),
    retries: count('retries', 'Deliveries whose next attempt is due.'),
    later: count('later', 'Deliveries scheduled for later: backing off, or waiting for a rate limit.'),
    paused: count('paused', 'Deliveries of tenants that need a working key or credit.'),
    oldest_seconds: {
      type: GraphQLFloat,
      description: 'How long the oldest of the first four has waited. Null when nothing waits.',
      resolve: oldestSeconds,
    },
    tenants: {
      type: new GraphQLNonNull(new GraphQLList(new GraphQLNonNull(tenantBacklogType))),
      description: 'The ten tenants of which most waits.',
    },
  },
});

/** `Utility.backlog`. Throws AppError PERMISSION_DENIED. */
export const backlogField: GraphQLFieldConfig<unknown, ControlContext> = {
  type: backlogType,
  description: 'What is committed and not sent yet, of all tenants. For pxadmin.',
  resolve: (_source, _args, { principal, deps }) => {
    requireInstallationAdmin(principal);
    return readBacklog(deps.database.ledger);
  },
};

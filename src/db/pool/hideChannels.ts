import type pg from 'pg';
import { statement, textConstant } from '../sql/sql.js';

/** As BullMQ subscribes, behind comments. */
const LISTEN = /^LISTEN (bullmq_\w+);\s*$/m;
/** What `rowpost.hidden_channel` appends. */
const SUFFIX = /_[0-9a-f]{32}$/;

/** Lets a connection of BullMQ listen to channels with names that no other role knows, as if they had those that BullMQ gave them. */
export function hideChannels(client: pg.ClientBase): void {
  const send = client.query.bind(client) as (...args: unknown[]) => unknown;
  const hidden = (first: unknown, ...others: unknown[]): unknown => {
    const [, channel] = (typeof first === 'string' && LISTEN.exec(first)) || [];
    return send(
      channel === undefined ? first : statement`select rowpost.listen_to(${textConstant(channel)})`,
      ...others,
    );
  };
  client.query = hidden as typeof client.query;
  client.on('notification', (message) => {
    message.channel = message.channel.replace(SUFFIX, '');
  });
}

import { startChildServer } from '../support/childServer.js';
import { peerFile } from '../support/peers.js';
import { makeEmptyDatabase } from './emptyDatabase.js';
import { mutateByHand, type Mutator } from './mutations.js';
import type { Backend } from './options.js';
import type { Site } from './site.js';

/** Two processes that insert a row, add a BullMQ job after the commit, and call @sendgrid/mail. */
export interface BareHop {
  readonly mutator: Mutator;
  stop(): Promise<void>;
}

/** @param concurrency emails in flight at once */
export async function startBareHop(
  { installation, redis, carrier }: Site,
  backend: Backend,
  options: { readonly connections: number; readonly concurrency: number },
): Promise<BareHop> {
  const database = await makeEmptyDatabase(installation, 'hop');
  const store = backend === 'redis' ? `${redis.url}/1` : database;
  const settings = JSON.stringify({
    database,
    store,
    carrier: carrier.url,
    concurrency: options.concurrency,
  });
  const script = peerFile('senders/bareHop.mjs');
  const web = await startChildServer(script, ['web', settings], process.execPath);
  const worker = await startChildServer(script, ['worker', settings], process.execPath);
  const mutator = mutateByHand(web.url, options.connections);
  return {
    mutator,
    async stop() {
      mutator.close();
      await Promise.all([web.stop(), worker.stop()]);
    },
  };
}

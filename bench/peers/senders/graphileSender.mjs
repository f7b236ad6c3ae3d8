// graphile-worker, with its defaults or, when `batched` is set, with jobs fetched and completed many at a time as its
// documentation on performance advises.
import { makeWorkerUtils, run } from 'graphile-worker';
import { Logger } from 'graphile-worker';
import { bulks, createSend, runSender } from './bareSend.mjs';

const quiet = new Logger(() => () => undefined);

await runSender({
  async fill({ store, events }) {
    const utils = await makeWorkerUtils({ connectionString: store, logger: quiet });
    await utils.migrate();
    for (const ids of bulks(events)) {
      await utils.addJobs(ids.map((id) => ({ identifier: 'send', payload: { id } })));
    }
    await utils.release();
  },
  async work({ store, carrier, concurrency, batched }) {
    const send = createSend(carrier);
    await run({
      preset: {
        worker: {
          connectionString: store,
          concurrentJobs: concurrency,
          maxPoolSize: 16,
          logger: quiet,
          ...(batched
            ? { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 }
            : {}),
        },
      },
      taskList: {
        send: async ({ id }) => {
          await send(id);
        },
      },
    });
  },
});

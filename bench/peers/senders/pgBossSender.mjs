// pg-boss. It fetches and completes jobs in batches; a batch's emails are sent at once.
import { PgBoss } from 'pg-boss';
import { bulks, createSend, runSender } from './bareSend.mjs';

const QUEUE = 'send';
const BATCH = 64;

await runSender({
  async fill({ store, events }) {
    const boss = await start(store);
    await boss.createQueue(QUEUE);
    for (const ids of bulks(events)) await boss.insert(QUEUE, ids.map((id) => ({ data: { id } })));
    await boss.stop();
  },
  async work({ store, carrier, concurrency }) {
    const send = createSend(carrier);
    const boss = await start(store);
    const options = { batchSize: BATCH, burstWhenBatchFull: true, localConcurrency: Math.max(1, concurrency / BATCH) };
    await boss.work(QUEUE, options, async (jobs) => {
      await Promise.all(jobs.map((job) => send(job.data.id)));
    });
  },
});

async function start(store) {
  const boss = new PgBoss({ connectionString: store, max: 16 });
  boss.on('error', (error) => {
    throw error;
  });
  await boss.start();
  return boss;
}

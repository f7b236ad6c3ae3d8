// The twin's relay: committed events become batches in the queue, and what was left behind becomes batches again.
import pg from 'pg';
import { openQueue, type Batch } from './queue.js';
import { passWindow, settings } from './settings.js';

const BATCH = 100;
const POLL_MS = 250;
/** Between two looks at what was left behind, and the age from which an event or delivery counts as that. */
const RECOVERY_MS = 5_000;
const LEFT_BEHIND = '5 seconds';

const ledger = new pg.Pool({ connectionString: settings.database, max: 2 });
const queue = await openQueue(settings);

/** Events that are visible now and were not in the snapshot before. */
const READ = `select pg_current_snapshot()::text as seen, array(
    select id from outbox, relay_cursor where xid >= pg_snapshot_xmin(seen)
      and not pg_visible_in_snapshot(xid, seen) and pg_visible_in_snapshot(xid, pg_current_snapshot()) order by id
  ) as events`;

async function relay(): Promise<void> {
  const { rows } = await ledger.query<{ seen: string; events: string[] }>({ name: 'read', text: READ });
  const { seen, events } = rows[0] as { seen: string; events: string[] };
  if (events.length === 0) return;
  passWindow('W3');
  await add(batchesOf(events).map((ids) => ({ events: ids })));
  passWindow('W4');
  await ledger.query({ name: 'cursor', text: 'update relay_cursor set seen = $1', values: [seen] });
}

/** Attempts whose lease is over end as ambiguous: the carrier may have the email. */
const END = `insert into attempt_end (delivery, attempt, outcome)
  select delivery, attempt, 'ambiguous' from attempt_start s where leased_until < now()
    and not exists (select from attempt_end e where e.delivery = s.delivery and e.attempt = s.attempt)
  on conflict do nothing`;
const LOST_EVENTS = `select id from outbox o where created < now() - interval '${LEFT_BEHIND}'
  and not exists (select from delivery d where d.event = o.id)`;
/** Deliveries that neither ended nor have an attempt under way. */
const OPEN_DELIVERIES = `select id from delivery d where created < now() - interval '${LEFT_BEHIND}'
  and not exists (select from attempt_end e where e.delivery = d.id and e.outcome in ('sent', 'rejected'))
  and not exists (select from attempt_start s where s.delivery = d.id and s.leased_until > now()
    and not exists (select from attempt_end e where e.delivery = d.id and e.attempt = s.attempt))`;

async function recover(): Promise<void> {
  const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
  // What the queue holds, it has not lost.
  if (wait + active > 0) return;
  await ledger.query(END);
  const events = await idsOf(LOST_EVENTS);
  const deliveries = await idsOf(OPEN_DELIVERIES);
  await add([
    ...batchesOf(events).map((ids) => ({ events: ids })),
    ...batchesOf(deliveries).map((ids) => ({ deliveries: ids })),
  ]);
}

async function idsOf(text: string): Promise<string[]> {
  return (await ledger.query<{ id: string }>(text)).rows.map(({ id }) => id);
}

function batchesOf(ids: readonly string[]): string[][] {
  const batches: string[][] = [];
  for (let from = 0; from < ids.length; from += BATCH) batches.push(ids.slice(from, from + BATCH));
  return batches;
}

async function add(batches: readonly Batch[]): Promise<void> {
  if (batches.length === 0) return;
  const opts = { removeOnComplete: true, removeOnFail: true };
  await queue.addBulk(batches.map((data) => ({ name: 'batch', data, opts })));
}

let isRunning = false;
let isDue = false;
let recoveredMs = Date.now();
let timer: NodeJS.Timeout | undefined;
async function run(): Promise<void> {
  isDue = true;
  if (isRunning) return;
  isRunning = true;
  clearTimeout(timer);
  while (isDue) {
    isDue = false;
    await relay();
    if (Date.now() - recoveredMs < RECOVERY_MS) continue;
    await recover();
    recoveredMs = Date.now();
  }
  isRunning = false;
  timer = setTimeout(() => void run(), POLL_MS);
}

const listener = new pg.Client({ connectionString: settings.database });
await listener.connect();
listener.on('notification', () => void run());
await listener.query('listen twin');
process.stdout.write('0\n');
await run();

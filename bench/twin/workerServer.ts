// The twin's worker: a batch of events becomes deliveries, and each delivery an email.
import pg from 'pg';
import { composeEmails, createSend, type Email, type Item, type Outcome } from './email.js';
import { inGroups } from './inGroups.js';
import { openWorker, type Batch } from './queue.js';
import { passWindow, settings } from './settings.js';

const { database, carrier, concurrency } = settings;
const RULE = 1;
/** So many batches that the next one is read while the emails of one are sent. */
const BATCHES = 3;
const LEASE = '15 seconds';

const ledger = new pg.Pool({ connectionString: database, max: 4 });
const shop = new pg.Pool({ connectionString: database, max: 2, options: '-c role=twin_shop' });
const send = createSend(carrier, concurrency);

interface Delivery {
  readonly id: string;
  readonly attempt: number;
  readonly row: Item;
}

/** Deliveries of events that have none. A batch that comes twice finds nothing to do. */
const CREATE = `with created as (
    insert into delivery (event, rule) select unnest($1::bigint[]), ${RULE} on conflict do nothing returning id, event)
  select created.id, 1 as attempt, outbox.row from created join outbox on outbox.id = created.event`;
/** Deliveries that another attempt is due for: the last one has ended. */
const RETRY = `select d.id, 1 + (select count(*)::int from attempt_end e where e.delivery = d.id) as attempt, o.row
  from delivery d join outbox o on o.id = d.event where d.id = any ($1)`;

async function work(batch: Batch): Promise<void> {
  passWindow('W6');
  const { rows } =
    'events' in batch
      ? await ledger.query<Delivery>({ name: 'create', text: CREATE, values: [batch.events] })
      : await ledger.query<Delivery>({ name: 'retry', text: RETRY, values: [batch.deliveries] });
  if (rows.length === 0) return;
  const emails = await composeEmails(
    shop,
    rows.map(({ row }) => row),
  );
  await Promise.all(rows.map((delivery, at) => withSlot(() => deliver(delivery, emails[at]))));
  passWindow('W9');
}

interface Start {
  readonly delivery: string;
  readonly attempt: number;
  readonly email: Email;
}
interface End extends Outcome {
  readonly delivery: string;
  readonly attempt: number;
}
type Entry = { readonly start: Start } | { readonly end: End };

/** Starts and ends that are ready, in one statement. A start that another process has made already is not returned. */
const RECORD = `with ends as (
    insert into attempt_end (delivery, attempt, outcome, http_status, message_id)
      select * from unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::text[]) on conflict do nothing)
  insert into attempt_start (delivery, attempt, leased_until, recipients, subject)
    select s.delivery, s.attempt, now() + interval '${LEASE}', array[s.recipient], s.subject
    from unnest($6::bigint[], $7::int[], $8::text[], $9::text[]) s (delivery, attempt, recipient, subject)
    on conflict do nothing returning delivery`;

/** @returns whether the attempt may be made; of an end, true */
const record = inGroups<Entry, boolean>(async (entries) => {
  const starts = entries.flatMap((entry) => ('start' in entry ? [entry.start] : []));
  const ends = entries.flatMap((entry) => ('end' in entry ? [entry.end] : []));
  const { rows } = await ledger.query<{ delivery: string }>({
    name: 'record',
    text: RECORD,
    values: [
      ends.map(({ delivery }) => delivery),
      ends.map(({ attempt }) => attempt),
      ends.map(({ outcome }) => outcome),
      ends.map(({ status }) => status),
      ends.map(({ messageId }) => messageId),
      starts.map(({ delivery }) => delivery),
      starts.map(({ attempt }) => attempt),
      starts.map(({ email }) => email.to),
      starts.map(({ email }) => email.subject),
    ],
  });
  const started = new Set(rows.map(({ delivery }) => delivery));
  return entries.map((entry) => !('start' in entry) || started.has(entry.start.delivery));
});

async function deliver({ id: delivery, attempt }: Delivery, email: Email | undefined): Promise<void> {
  if (email === undefined) {
    await record({ end: { delivery, attempt, outcome: 'rejected', status: null, messageId: null } });
    return;
  }
  if (!(await record({ start: { delivery, attempt, email } }))) return;
  passWindow('W7');
  const outcome = await send(email);
  passWindow('W8');
  await record({ end: { delivery, attempt, ...outcome } });
}

let free = concurrency;
const waiting: (() => void)[] = [];
async function withSlot(use: () => Promise<void>): Promise<void> {
  if (free > 0) free -= 1;
  else await new Promise<void>((resolve) => waiting.push(resolve));
  try {
    await use();
  } finally {
    const next = waiting.shift();
    if (next) next();
    else free += 1;
  }
}

const worker = await openWorker(settings, BATCHES, work);
worker.on('error', (error) => {
  console.error(error.message);
});
process.stdout.write('0\n');

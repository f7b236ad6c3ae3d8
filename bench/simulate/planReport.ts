import {
  CONCURRENCY,
  KNOWN_TENANTS,
  PEAK,
  placeTenants,
  runCell,
  SECONDS_A_DAY,
  sizeCell,
  TRANSACTIONS_A_EMAIL,
  type CellRun,
  type Size,
} from './plan.js';
import { Zipf } from './random.js';
import { TENANT_CONNECTIONS, type Terms } from './site.js';

const TENANTS = 100_000;
const EMAILS_A_DAY = 100_000_000;
const AVERAGE_PER_SECOND = EMAILS_A_DAY / SECONDS_A_DAY;
const CELLS = [1, 2, 4, 8];
/** The number of cells whose day is followed. */
const CELLS_OF_DAY = 4;
/** Between machines of one data center, one way. */
const HOP_MS = 0.25;
/** An outage of half a minute, whose changes come again within the minute after it. */
const AFTER_OUTAGE = 1.5;
/** More than one relay takes. */
const TOO_MANY_PER_SECOND = 14_000;

interface Plan {
  readonly cells: number;
  readonly tenants: Zipf;
  readonly perSecond: number;
  readonly size: Size;
  readonly run: CellRun;
}

/** Prints what the emails of so many tenants need, by the number of cells, and of each number what its busiest cell does. */
export function reportPlan(given: Terms): void {
  const terms = { ...given, hopMs: HOP_MS };
  const peak = AVERAGE_PER_SECOND * PEAK;
  console.log(
    `\n${TENANTS} tenants by Zipf's law, ${EMAILS_A_DAY / 1e6} million emails a day, ${peak.toFixed(0)}/s at the peak, WORKER_CONCURRENCY=${CONCURRENCY}`,
  );
  const plans = CELLS.map((cells) => planCell(terms, cells, peak));
  reportSizes(plans);
  reportFootprint(plans);
  reportLoss(terms, plans);
  reportKnown(terms, plans);
  reportDay(terms, plans);
  reportRelay(terms);
}

function planCell(terms: Terms, cells: number, peak: number): Plan {
  const [busiest] = placeTenants(TENANTS, cells);
  if (!busiest) throw new Error('there are no cells');
  const { zipf: tenants, share } = busiest;
  const perSecond = peak * share;
  const size = sizeCell(terms, perSecond, tenants);
  return { cells, tenants, perSecond, size, run: runCell(terms, size, perSecond, tenants) };
}

function reportSizes(plans: readonly Plan[]): void {
  table(
    'The busiest cell at the peak',
    [
      'cells',
      'emails/s',
      'sent',
      'p50 ms',
      'p99 ms',
      'web',
      'workers',
      'PostgreSQL cores',
      'relay busy',
      'Redis busy',
      'batches an email',
      'writes to the disk/s',
    ],
    plans.map(({ cells, perSecond, size, run }) => [
      cells,
      perSecond.toFixed(0),
      ...outcome(run, perSecond),
      size.web,
      size.workers,
      size.postgresCores,
      percent(run.use.relay),
      percent(run.use.redis),
      run.batchesPerEmail.toFixed(2),
      run.flushesPerSecond.toFixed(0),
    ]),
  );
}

/** Measured by `npm run bench -- tenants 300 30`: tenants with 30 tables each, of which three are asked. */
const SESSION_MIB = 11;
const SESSION_KIB_A_TENANT = 56;
const CATALOG_KIB_A_TENANT = 571;
/** Somewhat more than ../README.md has. */
const PROCESS_MIB = { web: 700, relay: 135, worker: 300 } as const;
const STORED_KB_A_EMAIL = 1.5;
const WAL_KB_A_EMAIL = 4.6;
const PG_POOL = 24;
/** What a job of one batch takes in Redis 7, by 10,000 of them. */
const JOB_KIB = 1.01;
/** How long jobs pile up before somebody has looked. */
const STALL_SECONDS = 60;

/** After which a session is closed; see tenantConnections.ts. */
const MAX_TENANTS_SERVED = 500;

function reportFootprint(plans: readonly Plan[]): void {
  table(
    'What that takes: cores of all cells together, the rest of the busiest cell',
    [
      'cells',
      'cores busy',
      'tenants',
      'connections',
      'memory of processes',
      'of the sessions, new',
      'after a day',
      'catalogs on the disk',
      'Redis, with a minute of jobs',
      'disk a day',
      'WAL/s',
    ],
    plans.map(({ cells, tenants, perSecond, size, run }) => {
      const share = perSecond / (AVERAGE_PER_SECOND * PEAK);
      const cores = Object.values(run.cores).reduce((sum, each) => sum + each, 0);
      const connections = (size.web + size.workers + 2) * PG_POOL;
      const ofTenants = (size.web + size.workers) * TENANT_CONNECTIONS;
      const transactions = (EMAILS_A_DAY * share * TRANSACTIONS_A_EMAIL) / ofTenants;
      const grownKiB =
        ofTenants * Math.min(MAX_TENANTS_SERVED, tenants.expectDistinct(transactions)) * SESSION_KIB_A_TENANT;
      const newGiB = (connections * SESSION_MIB) / 1024;
      const { web, relay, worker } = PROCESS_MIB;
      return [
        cells,
        ((cores / run.acceptedPerSecond) * AVERAGE_PER_SECOND * PEAK).toFixed(0),
        tenants.ranks.length,
        connections,
        gib((size.web * web + size.workers * worker + 2 * relay) / 1024),
        gib(newGiB),
        gib(newGiB + grownKiB / 1024 ** 2),
        gib((tenants.ranks.length * CATALOG_KIB_A_TENANT) / 1024 ** 2),
        gib((perSecond * run.batchesPerEmail * STALL_SECONDS * JOB_KIB) / 1024 ** 2),
        `${((EMAILS_A_DAY * share * STORED_KB_A_EMAIL) / 1e6).toFixed(0)} GB`,
        `${((perSecond * WAL_KB_A_EMAIL) / 1000).toFixed(0)} MB`,
      ];
    }),
  );
}

function reportLoss(terms: Terms, plans: readonly Plan[]): void {
  const rows = plans.flatMap(({ cells, perSecond, size, tenants }) => {
    const others = cells / (cells - 1);
    const cases = [
      { what: "a lost cell's tenants, spread over the others", times: others },
      { what: 'its own, after half a minute without PostgreSQL', times: AFTER_OUTAGE },
    ];
    return cases
      .filter(({ times }) => Number.isFinite(times))
      .map(({ what, times }) => {
        const wanted = perSecond * times;
        const run = runCell(terms, size, wanted, tenants);
        const use = [run.use.web, run.use.worker, run.use.postgres, run.use.relay].map(percent);
        return [cells, what, wanted.toFixed(0), ...outcome(run, wanted), ...use];
      });
  });
  table(
    'The busiest cell with the same machines, at the peak, with more to do',
    [
      'cells',
      'what comes on top',
      'emails/s',
      'sent',
      'p50 ms',
      'p99 ms',
      'web busy',
      'workers',
      'PostgreSQL',
      'relay',
    ],
    rows,
  );
}

/** What it is worth that processes have their tenants' tables at hand. */
function reportKnown(terms: Terms, plans: readonly Plan[]): void {
  const plan = plans.find(({ cells }) => cells === CELLS_OF_DAY);
  if (!plan) return;
  const { perSecond, tenants } = plan;
  table(
    `The busiest of ${CELLS_OF_DAY} cells, by how many of its ${tenants.ranks.length} tenants each process has at hand`,
    ['tenants', 'web', 'workers', 'PostgreSQL cores', 'sent', 'p50 ms', 'p99 ms', 'relay busy'],
    [KNOWN_TENANTS, 10 * KNOWN_TENANTS, tenants.ranks.length].map((known) => {
      const size = sizeCell(terms, perSecond, tenants, known);
      const run = runCell(terms, size, perSecond, tenants, known);
      const { web, workers, postgresCores } = size;
      return [known, web, workers, postgresCores, ...outcome(run, perSecond), percent(run.use.relay)];
    }),
  );
}

/** Emails at an hour of the day, as multiples of the average: one hour's peak in the morning, a third at night. */
function dayCurve(hour: number): number {
  const atRest = 0.3;
  const width = ((1 - atRest) * 24) / ((PEAK - atRest) * Math.sqrt(2 * Math.PI));
  return atRest + (PEAK - atRest) * Math.exp(-(((hour - 10) / width) ** 2) / 2);
}

function reportDay(terms: Terms, plans: readonly Plan[]): void {
  const plan = plans.find(({ cells }) => cells === CELLS_OF_DAY);
  if (!plan) return;
  const rows = [2, 8, 9, 10].map((hour) => {
    const perSecond = (plan.perSecond / PEAK) * dayCurve(hour);
    const { cores, p50, p99 } = runCell(terms, plan.size, perSecond, plan.tenants);
    const busy = [cores.web, cores.relay, cores.worker, cores.postgres].map((each) => each.toFixed(1));
    return [`${hour}:00`, perSecond.toFixed(0), p50.toFixed(0), p99.toFixed(0), ...busy];
  });
  table(
    `The busiest of ${CELLS_OF_DAY} cells over the day`,
    ['hour', 'emails/s', 'p50 ms', 'p99 ms', 'cores of web', 'relay', 'workers', 'PostgreSQL'],
    rows,
  );
}

/** What one relay takes when nothing else is scarce and processes know all tenants, by how many tenants the emails are of. */
function reportRelay(terms: Terms): void {
  const ample = { web: 60, workers: 60, postgresCores: 200 };
  table(
    'With more emails than one relay takes, and machines enough for all else',
    ['tenants', 'emails/s', 'batches an email', 'relay busy'],
    [1, 100, TENANTS].map((tenants) => {
      const all = new Zipf(Array.from({ length: tenants }, (_, n) => n + 1));
      const { acceptedPerSecond, batchesPerEmail, use } = runCell(
        terms,
        ample,
        TOO_MANY_PER_SECOND,
        all,
        tenants,
      );
      return [tenants, acceptedPerSecond.toFixed(0), batchesPerEmail.toFixed(2), percent(use.relay)];
    }),
  );
}

function outcome(run: CellRun, wanted: number): readonly string[] {
  return [percent(Math.min(1, run.acceptedPerSecond / wanted)), run.p50.toFixed(0), run.p99.toFixed(0)];
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;
const gib = (amount: number): string => `${amount.toFixed(amount < 10 ? 1 : 0)} GiB`;

function table(
  title: string,
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
): void {
  console.log(`\n${title}\n\n| ${head.join(' | ')} |\n|${' --- |'.repeat(head.length)}`);
  for (const row of rows) console.log(`| ${row.join(' | ')} |`);
}

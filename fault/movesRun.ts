import { setTimeout as delay } from 'node:timers/promises';
import { waitFor } from '../test/support/waitFor.js';
import { CELL_NAMES, otherCell, startCells, type CellName, type CellsRig } from './moves/cells.js';
import { strikeMove, type MadeMove, type Pause, type Strike } from './moves/moveTenant.js';
import { startShopLoad, type ShopLoad } from './moves/shopLoad.js';

export interface MovesOptions {
  readonly moves: number;
  /** Orders of each shop in a second. */
  readonly rate: number;
  /** Where the command is killed, in turn. */
  readonly strikes: readonly Strike[];
  /** How long a cell is killed for at the end, to compare the other's rate; not at all when 0. */
  readonly killSeconds: number;
  readonly say: (line: string) => void;
}

export interface MovesResult {
  readonly moves: readonly MadeMove[];
  readonly orders: number;
  readonly emails: number;
  /** Orders acknowledged without a row or an email. */
  readonly lost: readonly string[];
  /** Orders with more emails than the ledger has ambiguous attempts for. */
  readonly double: readonly string[];
  /** Emails sent again, each with an ambiguous attempt on record. */
  readonly duplicates: number;
  /** What clients must not meet, and tenants held by no cell or by two. */
  readonly wrong: readonly string[];
  /** As the command says, sorted, of moves that nothing disturbed. */
  readonly pausesMs: readonly number[];
  readonly closedMs: readonly number[];
  /** The other cell's orders a second while one is down, as a share of before. */
  readonly otherRate: number | undefined;
}

export const STRIKES: readonly Strike[] = ['none', 'copying', 'fenced', 'turned'];
const SETTLE_MS = 60_000;

/** Moves tenants between two cells under load, at random, with kills of the command in each step. */
export async function runMoves({
  moves,
  rate,
  strikes,
  killSeconds,
  say,
}: MovesOptions): Promise<MovesResult> {
  const rig = await startCells();
  try {
    const loads = rig.shops.map((shop) => startShopLoad(rig, shop, rate));
    await delay(1_000);
    const made: MadeMove[] = [];
    for (let turn = 0; turn < moves; turn++) {
      const load = loads[Math.floor(Math.random() * loads.length)];
      if (!load) throw new Error('there is no shop');
      const strike = strikes[turn % strikes.length] ?? 'none';
      const from = await holderOf(rig, load.shop.tenantid);
      const move = await strikeMove(rig, load.shop.tenantid, from, strike, Math.random);
      made.push(move);
      say(
        `  ${turn + 1}: tenant ${load.shop.tenantid} out of ${from}, killed: ${strike}, ${move.end}${move.pause === undefined ? '' : `, pause ${move.pause.pauseMs} ms, closed ${move.pause.closedMs} ms`}, longest order ${load.takeLongestMs()} ms`,
      );
    }
    const otherRate = killSeconds === 0 ? undefined : await killOne(rig, loads, killSeconds);
    await Promise.all(loads.map((load) => load.stop()));
    return {
      ...(await check(rig, loads)),
      moves: made,
      pausesMs: sorted(made, 'pauseMs'),
      closedMs: sorted(made, 'closedMs'),
      otherRate,
    };
  } finally {
    await rig.stop();
  }
}

const sorted = (made: readonly MadeMove[], name: keyof Pause): readonly number[] =>
  made.flatMap(({ pause }) => pause?.[name] ?? []).sort((one, other) => one - other);

/** The cell whose own PostgreSQL says that it holds the tenant: one, and only one. */
async function holderOf(rig: CellsRig, tenantid: number): Promise<CellName> {
  const holders = await holdersOf(rig, tenantid);
  const [holder] = holders;
  if (holder === undefined || holders.length > 1) {
    throw new Error(`tenant ${tenantid} is held by ${holders.join(' and ') || 'no cell'}`);
  }
  return holder;
}

async function holdersOf(rig: CellsRig, tenantid: number): Promise<readonly CellName[]> {
  const holders: CellName[] = [];
  for (const name of CELL_NAMES) {
    const { rows } = await rig.cells[name].testDatabase.database.pool.query(
      'select from rowpost.tenant where tenantid = $1 and moved_to is null',
      [tenantid],
    );
    if (rows.length > 0) holders.push(name);
  }
  return holders;
}

/** Kills the cell of one shop, and compares what the other's customers get. */
async function killOne(rig: CellsRig, loads: readonly ShopLoad[], seconds: number): Promise<number> {
  const [killed, other] = loads;
  if (!killed || !other) throw new Error('there are two shops');
  const cell = await holderOf(rig, killed.shop.tenantid);
  if ((await holderOf(rig, other.shop.tenantid)) === cell) {
    await strikeMove(rig, other.shop.tenantid, cell, 'none', Math.random);
  }
  const countFor = async (): Promise<number> => {
    const before = other.acknowledged.size;
    await delay(seconds * 1_000);
    return other.acknowledged.size - before;
  };
  const calm = await countFor();
  await rig.cells[cell].kill();
  const alone = await countFor();
  await rig.cells[cell].start();
  return alone / calm;
}

async function check(
  rig: CellsRig,
  loads: readonly ShopLoad[],
): Promise<Pick<MovesResult, 'orders' | 'emails' | 'lost' | 'double' | 'wrong' | 'duplicates'>> {
  const due = loads.flatMap(({ shop, acknowledged }) =>
    [...acknowledged.keys()].map((id) => `${id} of ${shop.tenantid}`),
  );
  const emailsOf = (): ReadonlyMap<string, number> => {
    const emails = new Map<string, number>();
    for (const { body, accepted } of rig.carrier.calls) {
      const order = body.subject.replace(/^Order /, '');
      if (accepted) emails.set(order, (emails.get(order) ?? 0) + 1);
    }
    return emails;
  };
  const areAllSent = (): boolean => {
    const emails = emailsOf();
    return due.every((order) => emails.has(order));
  };
  await waitFor('every email', areAllSent, { timeoutMs: SETTLE_MS, intervalMs: 500 }).catch(() => undefined);
  const emails = emailsOf();
  const lost = due.filter((order) => !emails.has(order)).map((order) => `no email for order ${order}`);
  const wrong = loads.flatMap((load) => load.wrong);
  const ambiguous = new Map<string, number>();
  for (const { shop, acknowledged } of loads) {
    const holders = await holdersOf(rig, shop.tenantid);
    if (holders.length !== 1)
      wrong.push(`tenant ${shop.tenantid} is held by ${holders.join(' and ') || 'no cell'}`);
    const [holder = 'cell1'] = holders;
    const schema = `tenant_${shop.tenantid}`;
    const { rows } = await rig.cells[holder].testDatabase.database.pool.query<{ order_id: number }>(
      `select order_id from ${schema}.orders`,
    );
    const stored = new Set(rows.map(({ order_id: id }) => id));
    for (const id of acknowledged.keys()) {
      if (!stored.has(id)) lost.push(`order ${id} of ${shop.tenantid} has no row`);
    }
    for (const [order, attempts] of await ambiguousAttempts(rig, holder, shop.tenantid)) {
      ambiguous.set(order, attempts);
    }
    const { rows: left } = await rig.cells[otherCell(holder)].testDatabase.database.pool.query(
      'select from pg_namespace where nspname = $1',
      [schema],
    );
    if (left.length > 0) wrong.push(`${otherCell(holder)} still has ${schema}`);
  }
  const again = [...emails].filter(([, count]) => count > 1);
  const double = again
    .filter(([order, count]) => count > 1 + (ambiguous.get(order) ?? 0))
    .map(([order, count]) => `${count} emails for order ${order}`);
  const duplicates = again.reduce((sum, [, count]) => sum + count - 1, 0);
  return {
    orders: due.length,
    emails: [...emails.values()].reduce((sum, count) => sum + count, 0),
    lost,
    double,
    duplicates,
    wrong,
  };
}

/** How often it is not known whether the email of an order was sent, by order. */
async function ambiguousAttempts(
  rig: CellsRig,
  holder: CellName,
  tenantid: number,
): Promise<ReadonlyMap<string, number>> {
  const { rows } = await rig.cells[holder].testDatabase.database.pool.query<{
    order: string;
    attempts: number;
  }>(
    `select d.key ->> 'order_id' as order, count(*)::int as attempts
     from rowpost.email_attempt a join rowpost.email_delivery d using (tenantid, deliveryid)
     where tenantid = $1 and a.outcome = 'ambiguous' group by 1`,
    [tenantid],
  );
  return new Map(rows.map(({ order, attempts }) => [`${order} of ${tenantid}`, attempts]));
}

import { expect } from 'chai';
import type { Principal } from '../../src/db/roles/principal.js';
import { openShop, roleWith, type Json, type Shop } from './support/shop.js';
import { generator, type Random } from './support/randomTenant.js';
import { testSeed } from '../support/randomNumbers.js';

const SEED = testSeed();
const REQUESTS = 1_000;
const TABLES = ['stock', 'price'] as const;
const ALL = ['select', 'insert', 'update', 'delete'];

type TableName = (typeof TABLES)[number];
interface Item {
  readonly id: number;
  readonly n: number | null;
  readonly s: string | null;
}
type State = Record<TableName, Map<number, Item>>;

/** What a role may do with a table: nothing, or all of it with the rows for which this holds. */
type Grant = { readonly text: string; readonly holds: (item: Item) => boolean } | undefined;
const GRANTS: readonly Grant[] = [
  { text: '', holds: () => true },
  { text: 'n > 3', holds: ({ n }) => n !== null && n > 3 },
  { text: "s = 'a' or n is null", holds: ({ n, s }) => s === 'a' || n === null },
  { text: 'id % 2 = 0', holds: ({ id }) => id % 2 === 0 },
  undefined,
];

/**
 * Random mutations, several to a request, under random rules, against plain maps in memory: the responses, the errors, the
 * rows that are left and the events must be the same.
 */
describe(`mutations against a naive implementation (SEED=${SEED})`, function () {
  let shop: Shop;
  before(async () => {
    shop = await openShop(
      TABLES.map((name) => `create table ${name} (id int primary key, n int, s text);`).join('\n'),
    );
  });
  after(() => shop.close());

  it(`${REQUESTS} requests`, async () => {
    const random = generator(SEED);
    let state: State = { stock: new Map(), price: new Map() };
    let grants: Record<TableName, Grant> = { stock: GRANTS[0], price: GRANTS[0] };
    let principal = shop.root;
    const outcomes = new Set<string>();
    for (let n = 0; n < REQUESTS; n++) {
      if (n % 40 === 39) {
        grants = { stock: GRANTS[random(GRANTS.length)], price: GRANTS[random(GRANTS.length)] };
        principal = roleFor(shop, grants);
      }
      const changes = Array.from({ length: 1 + random(3) }, () => randomChange(random));
      const query = `mutation { ${changes.map((change, i) => `f${i}: ${textOf(change)} { id n s }`).join(' ')} }`;
      const expected = apply(state, changes, grants);
      const reply = await shop.ask(query, {}, principal);
      const events = await shop.events();
      const shown = `request ${n}: ${query}\n${reply.body}`;
      if (expected.kind === 'refused') {
        expect(reply.data, shown).to.equal(null);
        expect(reply.errors?.[0]?.extensions.code, shown).to.equal(expected.code);
        expect(reply.errors?.[0]?.path, shown).to.deep.equal([`f${expected.at}`]);
        expect(events, shown).to.deep.equal([]);
        outcomes.add(expected.code);
        continue;
      }
      state = expected.state;
      expect(reply.body, shown).to.equal(JSON.stringify({ data: expected.data }));
      expect(
        events.map(({ operation, target, key, old, new: row }) => ({ operation, target, key, old, row })),
        shown,
      ).to.deep.equal(expected.events);
      for (const event of expected.events) outcomes.add(event.operation);
      if (n % 50 === 0) await compareRows(shop, state);
    }
    await compareRows(shop, state);
    expect([...outcomes].sort(), 'each outcome came up').to.deep.equal([
      'NOT_FOUND',
      'PERMISSION_DENIED',
      'UNIQUE_VIOLATION',
      'delete',
      'insert',
      'update',
    ]);
  });
});

function roleFor(shop: Shop, grants: Record<TableName, Grant>): Principal {
  const rules = TABLES.flatMap((name) => {
    const grant = grants[name];
    return grant ? [{ capabilities: ALL, targets: [name], filter: grant.text }] : [];
  });
  return roleWith(shop, ALL, rules);
}

async function compareRows(shop: Shop, state: State): Promise<void> {
  for (const name of TABLES) {
    const { rows } = await shop.test.database.pool.query(
      `select id, n, s from ${shop.tenant.schema}.${name} order by id`,
    );
    expect(rows, name).to.deep.equal([...state[name].values()].sort((a, b) => a.id - b.id));
  }
}

interface Change {
  readonly kind: 'create' | 'update' | 'delete';
  readonly table: TableName;
  readonly id: number;
  readonly values: Partial<Omit<Item, 'id'>>;
  readonly onConflict: 'fail' | 'update' | 'ignore';
}

function randomChange(random: Random): Change {
  const n = random(6) === 0 ? null : random(8);
  const s = random(6) === 0 ? null : 'abc'[random(3)]!;
  const kind = (['create', 'create', 'update', 'delete'] as const)[random(4)]!;
  const choice = random(3);
  return {
    kind,
    table: TABLES[random(TABLES.length)]!,
    id: 1 + random(25),
    // An update has to change something; an insert may leave both to their defaults.
    values: { ...(choice !== 1 ? { n } : {}), ...(choice !== 0 || kind === 'update' ? { s } : {}) },
    onConflict: (['fail', 'fail', 'update', 'ignore'] as const)[random(4)]!,
  };
}

function textOf({ kind, table, id, values, onConflict }: Change): string {
  const given = Object.entries(values).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
  switch (kind) {
    case 'create':
      return `create_${table}(input: { ${[`id: ${id}`, ...given].join(', ')} }, onconflict: ${onConflict})`;
    case 'update':
      return `update_${table}(id: ${id}, input: { ${given.join(', ')} })`;
    case 'delete':
      return `delete_${table}(id: ${id})`;
  }
}

interface Event {
  readonly operation: string;
  readonly target: string;
  readonly key: unknown;
  readonly old: Item | null;
  readonly row: Item | null;
}

type Expected =
  | { readonly kind: 'refused'; readonly code: string; readonly at: number }
  | { readonly kind: 'done'; readonly state: State; readonly data: unknown; readonly events: Event[] };

/** The first refusal undoes the request; what no rule grants at all is refused before anything runs. */
function apply(before: State, changes: readonly Change[], grants: Record<TableName, Grant>): Expected {
  const denied = changes.findIndex(({ table }) => grants[table] === undefined);
  if (denied >= 0) return { kind: 'refused', code: 'PERMISSION_DENIED', at: denied };
  const state: State = { stock: new Map(before.stock), price: new Map(before.price) };
  const data: Record<string, Json | null> = {};
  const events: Event[] = [];
  for (const [at, change] of changes.entries()) {
    const { table, id } = change;
    const old = state[table].get(id) ?? null;
    const outcome = outcomeOf(change, old, (item) => grants[table]?.holds(item) ?? false);
    if (typeof outcome === 'string') return { kind: 'refused', code: outcome, at };
    data[`f${at}`] = shownAs(outcome.response);
    if (outcome.operation === undefined) continue;
    if (outcome.row) state[table].set(id, outcome.row);
    else state[table].delete(id);
    const before = outcome.operation === 'insert' ? null : old;
    events.push({ operation: outcome.operation, target: table, key: { id }, old: before, row: outcome.row });
  }
  return { kind: 'done', state, data, events };
}

interface Outcome {
  /** Undefined when nothing was changed. */
  readonly operation?: 'insert' | 'update' | 'delete';
  readonly row: Item | null;
  readonly response: Item | null;
}

function outcomeOf(change: Change, old: Item | null, holds: (item: Item) => boolean): Outcome | string {
  const { kind, id, values, onConflict } = change;
  if (kind === 'delete') {
    return old && holds(old) ? { operation: 'delete', row: null, response: old } : 'NOT_FOUND';
  }
  if (kind === 'update' && !(old && holds(old))) return 'NOT_FOUND';
  if (kind === 'create' && old && onConflict === 'fail') return 'UNIQUE_VIOLATION';
  if (kind === 'create' && old && onConflict === 'ignore') return { row: old, response: null };
  if (kind === 'create' && old && !holds(old)) return 'PERMISSION_DENIED';
  const row: Item = { ...(old ?? { id, n: null, s: null }), ...values };
  if (!holds(row)) return 'PERMISSION_DENIED';
  return { operation: old ? 'update' : 'insert', row, response: row };
}

function shownAs(item: Item | null): Json | null {
  return item && ({ ...item, id: String(item.id) } as unknown as Json);
}

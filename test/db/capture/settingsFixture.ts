import { expect } from 'chai';
import type pg from 'pg';
import { openCaptureFixture, type CaptureFixture } from './captureFixture.js';

/** Values of the types that settings show in ways of their own. */
const COLUMNS = `
  at timestamptz default '2026-06-01 12:34:56.789+02', span tstzrange default '[2026-06-01 00:00+02,)', d date default '2026-06-01',
  iv interval default '1 year -2 days 03:04:05.6', f8 float8 default 0.1::float8 + 0.2, f4 float4[] default '{0.1}', b bytea default '\\x00ff5c',
  js json default '{"a": "\\ud800", "b":"\\u0000"}', words text default E'a "quoted"\\\\ \\u00e9', rel regclass default 'pg_attribute', arr text[] default '{NULL,"a b"}'`;
const DDL = `
  create type mood as enum ('glad', 'sad'); create type pair as (at timestamptz, mood mood);
  create table fast (id int primary key, ${COLUMNS});
  create table slow (id int primary key, ${COLUMNS}, mood mood default 'glad', moods mood[] default '{glad,NULL}', pair pair default '("2026-06-01 12:00+02",sad)');
  create table made (id int primary key, n int default 2, word text generated always as (upper(n::text || E'\\\\')) stored);
  create table twin (like fast including all)`;
const TABLES = ['fast', 'slow', 'made'];

/** A session in which a row is written to each table under one setting after another. */
export interface SettingsFixture {
  readonly client: pg.Client;
  /** Each of these values of a setting neither fails a write nor changes an event. @returns how many a session may have */
  check(settings: Iterable<readonly [name: string, values: readonly string[]]>): Promise<number>;
  close(): Promise<void>;
}

export async function openSettingsFixture(): Promise<SettingsFixture> {
  const fixture = await openCaptureFixture(DDL, TABLES);
  const client = await fixture.connect();
  const { schema } = fixture.shop.tenant;
  const usual = new Map<string, readonly string[]>();
  let id = 0;
  const next = (): number => (id += 2);
  for (const table of TABLES) usual.set(table, await recorded(fixture, client, table, next()));
  expect([...usual.values()].flat()).to.have.length(3 * TABLES.length);
  return {
    client,
    async check(settings) {
      let tried = 0;
      for (const [name, values] of settings) {
        for (const value of values) {
          await client.query('reset all');
          // Some, such as a memory of 1 GB, let no statement run.
          const works =
            (await succeeds(client.query('select set_config($1, $2, false)', [name, value]))) &&
            (await succeeds(client.query(`insert into ${schema}.twin (id) values (${next()})`)));
          if (!works) continue;
          tried++;
          for (const [table, events] of usual) {
            expect(await recorded(fixture, client, table, next()), `${name} = ${value}`).to.deep.equal(
              events,
            );
          }
        }
      }
      return tried;
    },
    close: () => fixture.close(),
  };
}

/** What the three statements of a row record, without its key. */
async function recorded(
  fixture: CaptureFixture,
  client: pg.Client,
  table: string,
  id: number,
): Promise<readonly string[]> {
  const name = `${fixture.shop.tenant.schema}.${table}`;
  await fixture.events();
  await client.query(`insert into ${name} (id) values (${id})`);
  await client.query(`update ${name} set id = id + 1 where id = ${id}`);
  await client.query(`delete from ${name} where id = ${id + 1}`);
  return (await fixture.events()).map((event) =>
    [event.operation, event.target, event.key, event.old, event.new, event.application]
      .join(' ')
      .replaceAll(new RegExp(`"id" ?: ?(${id}|${id + 1})`, 'g'), '"id"'),
  );
}

async function succeeds(query: Promise<unknown>): Promise<boolean> {
  return query.then(
    () => true,
    () => false,
  );
}

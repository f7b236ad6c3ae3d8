import { expect } from 'chai';
import type pg from 'pg';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';

/**
 * A transaction that began before a column was added or renamed sees the catalog as it was. By that catalog, a row had no types but
 * PostgreSQL's, and its trigger converted it as the service: with the cast of the new column's type. Where no column has a name any
 * more, `row.name` calls the function `name`, and some convert the whole row.
 */
describe('attack: the columns of a captured table change while a transaction is open', () => {
  let fixture: CaptureFixture;
  let old: pg.Client;
  before(async () => {
    fixture = await openCaptureFixture(
      `create table seen (id int primary key); create table typed (id int primary key, word text);
       create table gone (id int primary key, word text); create table added (id int primary key, mood int);
       create type spy as enum ('a');
       create table renamed (id int primary key, to_json json, spy spy default 'a');
       create table swapped (id int primary key, spy spy default 'a', row_to_json json);
       create function tell(spy) returns json language plpgsql as $$ begin
         raise warning 'cast as %', current_user;
         return to_json('as ' || current_user); end $$;
       create cast (spy as json) with function tell(spy)`,
      ['seen', 'typed', 'gone', 'added', 'renamed', 'swapped'],
    );
    old = await fixture.connect();
  });
  after(() => fixture.close());
  beforeEach(() => fixture.events());

  for (const isolation of ['repeatable read', 'serializable']) {
    it(`which runs no cast as the service: ${isolation}`, async () => {
      const { shop } = fixture;
      const write = async (change: string, statement: string): Promise<string | null | undefined> => {
        await old.query(`begin isolation level ${isolation}; select 1`);
        await shop.sql(change);
        await old.query(statement);
        await old.query('commit');
        const events = await fixture.events();
        expect(events).to.have.length(1);
        return events[0]!.new;
      };
      expect(
        await write(`alter table seen add column spy spy default 'a'`, 'insert into seen values (1)'),
      ).to.equal('{"id":1}');
      expect(
        await write(`alter table typed alter word type spy using 'a'`, `insert into typed values (1, 'a')`),
      ).to.contain('were changed');
      expect(await write('alter table gone drop word', 'insert into gone values (1)')).to.contain(
        'capture_error',
      );
      expect(
        await write(`alter table added add column more spy default 'a'`, 'insert into added values (1, 2)'),
      ).to.equal('{"id":1,"mood":2}');
      const heard: string[] = [];
      old.on('notice', ({ message }) => heard.push(message ?? ''));
      for (const [change, statement] of [
        ['alter table renamed rename to_json to other', `insert into renamed values (1, '1')`],
        ['alter table swapped drop row_to_json, add other json', 'insert into swapped values (1)'],
      ] as const) {
        expect(await write(change, statement)).to.contain('were changed');
      }
      expect(heard).to.deep.equal([]);
      old.removeAllListeners('notice');
      await shop.sql(
        'alter table renamed rename other to to_json; alter table swapped drop other, add row_to_json json; truncate renamed, swapped',
      );
      await shop.sql(
        'alter table seen drop spy; alter table typed drop word, add word text; alter table gone add word text; alter table added drop more; truncate seen, typed, gone, added',
      );
    });
  }
});

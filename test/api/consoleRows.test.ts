import { expect } from 'chai';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const TABLES = '/console/tables';
const ROWS = `${TABLES}/thing/rows`;

describe('the console’s rows', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;

  before(async () => {
    shop = await ConsoleShop.open();
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create table thing (id int, "Part" text, name text not null default 'unnamed', exact numeric, big int8, done boolean,
         tags text[], data jsonb, doubled numeric generated always as (exact * 2) stored, primary key (id, "Part"));
       insert into thing values (1, 'it''s \\ "a"', '<i>Ada</i>', 12345678901234567890.10, 9007199254740993, true, '{a,b}', '{"n": 1.50}');
       insert into thing select n, 'b', 'row ' || n from generate_series(2, 60) n;
       create table keyed ("input" int, "desc" int, "and" int, note text, primary key ("input", "desc", "and"));
       insert into keyed values (1, 2, 3, 'one'), (1, 2, 4, 'other');
       create view named as select name from thing`,
    });
    browser = await shop.signedIn();
    csrf = await browser.csrf(TABLES);
    await browser.post(TABLES, { csrf });
  });
  after(() => shop.close());

  const FIRST = JSON.stringify({ id: '1', Part: `it's \\ "a"` });
  const pathOf = (key: string): string => `${ROWS}/edit?key=${encodeURIComponent(key)}`;
  const send = (values: Readonly<Record<string, string>>): Promise<Response> =>
    browser.post(`${ROWS}/edit`, { csrf, ...values });
  const stored = async (id: number): Promise<unknown> => {
    const { rows } = await shop.fixture.testDatabase.database.pool.query<{ row: unknown }>(
      `select to_jsonb(t)::text as row from rowpost_schema.thing t where id = $1`.replace(
        'rowpost_schema',
        await schema(),
      ),
      [id],
    );
    return rows[0]?.row;
  };
  const schema = async (): Promise<string> => {
    const { rows } = await shop.fixture.testDatabase.database.pool.query<{ schema: string }>(
      'select schema from rowpost.tenant where tenantid = $1',
      [shop.tenantid],
    );
    return rows[0]!.schema;
  };
  const lastEvent = async (): Promise<Record<string, unknown> | undefined> => {
    const { rows } = await shop.fixture.testDatabase.database.pool.query<Record<string, unknown>>(
      'select operation, roleid, key, old, new from rowpost.outbox where tenantid = $1 order by eventid desc limit 1',
      [shop.tenantid],
    );
    return rows[0];
  };

  it('are listed newest first, a page at a time, with every digit and escaped', async () => {
    const first = await browser.page(ROWS);
    expect(first)
      .to.include('<td>row 60</td>')
      .and.include('<td>row 11</td>')
      .and.not.include('<td>row 10</td>');
    const next = /rel="next" href="([^"]+)"/.exec(first)![1]!.replaceAll('&amp;', '&');
    const second = await browser.page(next);
    expect(second)
      .to.include('&lt;i&gt;Ada&lt;/i&gt;')
      .and.include('12345678901234567890.10')
      .and.include('24691357802469135780.20')
      .and.include('9007199254740993')
      .and.not.include('<i>Ada');
    expect(await browser.page(`${TABLES}/named/rows`))
      .to.include('row 2')
      .and.not.include('New row');
  });

  it('are cut between characters', async () => {
    await send({
      key: '',
      action: 'save',
      value_id: '61',
      value_Part: 'x',
      value_name: `${'n'.repeat(59)}😀n`,
    });
    expect(await browser.page(`${ROWS}?filter=id%20%3D%2061`)).to.include(`<td>${'n'.repeat(59)}…</td>`);
  });

  it('say which column can not have what was typed', async () => {
    const wrong = await send({ key: '', action: 'save', value_exact: 'twelve' });
    expect(wrong.status).to.equal(400);
    expect(await wrong.text())
      .to.include('Decimal cannot represent &#34;twelve&#34;.')
      .and.include('In <code>exact</code>')
      .and.match(/id="value_exact"[^>]+aria-invalid="true"/)
      .and.not.include('$input');
  });

  it('are found by a filter, whose errors are shown', async () => {
    const found = await browser.page(`${ROWS}?filter=${encodeURIComponent("name like '%Ada%' and done")}`);
    expect(found).to.include('Ada').and.not.include('row 2');
    const wrong = await browser.get(`${ROWS}?filter=nam`);
    expect([wrong.status, (await wrong.text()).includes('name')]).to.deep.equal([400, true]);
  });

  it('are changed in what was changed only, as an event of the role', async () => {
    const page = await browser.page(pathOf(FIRST));
    expect(page)
      .to.include('name="was_exact" value="12345678901234567890.10"')
      .and.not.include('name="value_id"')
      .and.not.include('doubled');
    const response = await send({
      key: FIRST,
      action: 'save',
      value_name: 'Ada',
      was_name: '<i>Ada</i>',
      value_exact: '12345678901234567890.10',
      was_exact: '12345678901234567890.10',
      value_big: '9007199254740995',
      was_big: '9007199254740993',
      value_tags: '["a", "c,d"]',
      was_tags: '["a","b"]',
      value_data: '{"n": 1.50}',
      was_data: '{"n": 1.50}',
      value_done: '',
      was_done: 'true',
    });
    expect(response.status, await response.text()).to.equal(303);
    expect(await browser.page(response.headers.get('location')!))
      .to.include('Saved.')
      .and.include('What became of it');
    expect(await stored(1)).to.equal(
      `{"id": 1, "big": 9007199254740995, "Part": "it's \\\\ \\"a\\"", "data": {"n": 1.50}, "done": null, "name": "Ada", "tags": ["a", "c,d"], "exact": 12345678901234567890.10, "doubled": 24691357802469135780.20}`,
    );
    expect(await lastEvent()).to.deep.include({ operation: 'update' });
  });

  it('are changed and deleted by keys that are named like arguments and keywords', async () => {
    const rows = `${TABLES}/keyed/rows`;
    const key = JSON.stringify({ input: '1', desc: '2', and: '3' });
    expect(await browser.page(rows))
      .to.include('one')
      .and.include('other');
    const sent = (values: Readonly<Record<string, string>>) =>
      browser.post(`${rows}/edit`, { csrf, key, ...values });
    const changed = await sent({ action: 'save', value_note: 'new', was_note: 'one' });
    expect(changed.status, await changed.text()).to.equal(303);
    expect(await browser.page(changed.headers.get('location')!)).to.include('new');
    expect((await sent({ action: 'delete' })).status).to.equal(303);
    expect(await browser.page(rows))
      .to.include('other')
      .and.not.include('new<');
  });

  it('become null only if the box is checked and nothing is typed', async () => {
    const key = '{"id":2,"Part":"b"}';
    await send({
      key,
      value_exact: '',
      was_exact: '',
      wasnull_exact: '1',
      null_exact: 'on',
      value_name: 'x',
      was_name: 'row 2',
    });
    expect(await stored(2))
      .to.include('"exact": null')
      .and.include('"name": "x"');
    await send({ key, value_exact: '0.10', was_exact: '', wasnull_exact: '1', null_exact: 'on' });
    expect(await stored(2)).to.include('"exact": 0.10');
    await send({ key, value_exact: '', was_exact: '0.10', null_exact: 'on' });
    expect(await stored(2)).to.include('"exact": null');
    const empty = await send({ key, value_exact: '', was_exact: '0.10' });
    expect(empty.status).to.equal(400);
  });

  it('are created with the defaults of what is left empty, and deleted', async () => {
    const made = await send({
      key: '',
      action: 'save',
      value_id: '70',
      value_Part: 'new\r\nline',
      value_name: '',
      value_done: 'false',
    });
    expect(made.status, await made.text()).to.equal(303);
    const location = made.headers.get('location')!;
    expect(location).to.include('done=created');
    expect(await stored(70))
      .to.include('"name": "unnamed"')
      .and.include('"done": false')
      .and.include('"Part": "new\\nline"');
    const key = new URL(location, 'http://x').searchParams.get('key')!;
    const gone = await send({ key, action: 'delete' });
    expect(gone.status).to.equal(303);
    expect(await browser.page(gone.headers.get('location')!)).to.include('Deleted.');
    expect(await stored(70)).to.equal(undefined);
    expect((await browser.get(pathOf(key))).status).to.equal(404);
  });

  it('are not said to be written if a trigger skips them', async () => {
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create table skipping (id int primary key);
        create function skip() returns trigger language plpgsql as 'begin return null; end';
        create trigger skip before insert on skipping for each row execute function skip()`,
    });
    await browser.post(TABLES, { csrf });
    const response = await browser.post(`${TABLES}/skipping/rows/edit`, { csrf, key: '', value_id: '1' });
    expect(response.status, await response.text()).to.equal(303);
    expect(await browser.page(response.headers.get('location')!)).to.include(
      '<p class="notice warnings" role="status">Nothing was written',
    );
  });

  it('keep what was typed when a value is refused', async () => {
    for (const [values, says] of [
      [{ value_data: '{"n": ' }, 'data is not valid JSON'],
      [{ value_big: 'many' }, 'big'],
      [{ value_id: '1', value_Part: `it's \\ "a"` }, 'already exists'],
    ] as const) {
      const response = await send({ key: '', value_id: '80', value_Part: 'c', ...values });
      const text = await response.text();
      expect(response.status, text).to.be.within(400, 409);
      expect(text)
        .to.include(says)
        .and.include(Object.values(values)[0]!.replaceAll('"', '&#34;').replaceAll("'", '&#39;'));
    }
    expect((await send({ key: '{"id":2,"Part":"b"}', value_name: 'x', was_name: 'x' })).status).to.equal(400);
  });

  it('are refused without a key that fits, to others than admins, without the page’s token, and to other tenants', async () => {
    for (const key of ['{"id":2}', '2', '{"id":2,"Part":null}', '{']) {
      expect((await browser.get(pathOf(key))).status, key).to.equal(404);
    }
    expect((await browser.get(pathOf(`{"id":2,"Part":"b' or true or '"}`))).status).to.equal(404);
    expect((await browser.post(`${ROWS}/edit`, { csrf: 'x', key: FIRST, action: 'delete' })).status).to.equal(
      403,
    );
    const viewer = await shop.signedIn('shop', 'viewer');
    expect((await viewer.get(ROWS)).status).to.equal(403);
    const other = await shop.signedIn('other');
    expect((await other.get(ROWS)).status).to.equal(400);
    const named = await send({ key: '', value_name: 'x' });
    expect(named.status).to.equal(400);
  });

  it('of more than a page can show are not parsed', async () => {
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create table large (id int primary key, body text); insert into large select n, repeat('x', 100000) from generate_series(1, 20) n`,
    });
    await browser.post(TABLES, { csrf });
    const response = await browser.get(`${TABLES}/large/rows`);
    expect([response.status, (await response.text()).includes('too large to show')]).to.deep.equal([
      400,
      true,
    ]);
    const one = await browser.page(`${TABLES}/large/rows/edit?key=${encodeURIComponent('{"id":1}')}`);
    expect(one).to.include('Too long to edit here').and.not.include('xxxxx');
  });
});

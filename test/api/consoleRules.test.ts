import { expect } from 'chai';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at, textAt } from './webFixture.js';

const RULE = '/console/rules/edit';
const EVIL = `"></option></select><script>alert('x')</script>`;
const WIDE = Array.from({ length: 1_490 }, (_, index) => `c${index} int`).join(', ');

describe('the console’s rules without SQL', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;
  let role: string;

  before(async () => {
    shop = await ConsoleShop.open();
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create type mood as enum ('glad', '${EVIL.replaceAll("'", "''")}');
        create table visit (id int primary key, mood mood, day date, at timestamptz, paid boolean, total numeric, status text);
        create table wide (id int primary key, ${WIDE});`,
    });
    await shop.fixture.control(shop.root, '{ Utility { introspect } }');
    browser = await shop.signedIn();
    csrf = await browser.csrf('/console/rules');
    role = String((await shop.fixture.signIn(shop.tenantid)).roleid);
  });
  after(() => shop.close());

  /** The rows of a form: [column, operator, value] by group. */
  const rows = (
    ...groups: readonly (readonly (readonly [string, string, string?])[])[]
  ): Record<string, string> => ({
    view: 'rows',
    ...Object.fromEntries(
      groups.flatMap((group, g) =>
        group.flatMap(([column, operator, value = ''], r) => [
          [`if_${g}_${r}_column`, column],
          [`if_${g}_${r}_operator`, operator],
          [`if_${g}_${r}_value`, value],
        ]),
      ),
    ),
  });
  const rule = (given: Record<string, string> = {}): Record<string, string> => ({
    csrf,
    name: 'a rule',
    of_visit: 'on',
    on_update: 'on',
    email_type: 'confirmation',
    query_roleid: role,
    ...given,
  });
  const without = (name: string, values: Record<string, string>): Record<string, string> =>
    Object.fromEntries(Object.entries(values).filter(([each]) => each !== name));
  async function post(values: Record<string, string>, path = RULE): Promise<[number, string]> {
    const response = await browser.post(path, values);
    return [response.status, await response.text()];
  }
  async function saved(name: string): Promise<{ ruleid: string; condition: string | null }> {
    const found = await shop.fixture.control(
      shop.root,
      'query ($filter: String) { email_rule(filter: $filter) { ruleid condition } }',
      { filter: `name = '${name}'` },
    );
    return {
      ruleid: textAt(found, 'data.email_rule.0.ruleid'),
      condition: at(found, 'data.email_rule.0.condition') as string,
    };
  }

  it('writes the expression of its rows, and opens it as the same rows', async () => {
    const when = rows(
      [
        ['status', 'becomes', "it's 50 %"],
        ['paid', 'is', 'true'],
        ['day', 'less', '2026-01-31'],
      ],
      [
        ['mood', 'is_not', 'glad'],
        ['at', 'at_least', '2026-01-31T10:00'],
        ['total', 'empty'],
      ],
    );
    const [status] = await post(rule({ name: 'rows', ...when, action: 'save' }));
    expect(status).to.equal(303);
    const { ruleid, condition } = await saved('rows');
    expect(condition).to.equal(
      "(new.status = 'it''s 50 %' and old.status is distinct from 'it''s 50 %' and new.paid = true and new.day < '2026-01-31')" +
        " or (new.mood is distinct from 'glad' and new.at >= '2026-01-31T10:00Z' and new.total is null)",
    );
    const form = await browser.page(`${RULE}?id=${ruleid}`);
    expect(form)
      .to.match(/id="if_0_0_value" name="if_0_0_value" type="text" value="it&#39;s 50 %"/)
      .and.match(/<option value="true" selected>yes</)
      .and.match(/id="if_0_2_value" name="if_0_2_value" type="date" value="2026-01-31"/)
      .and.match(/<option value="glad" selected>glad</)
      .and.match(/id="if_1_1_value" name="if_1_1_value" type="datetime-local" value="2026-01-31T10:00"/)
      .and.not.include('if_1_2_value')
      .and.not.include('<textarea');
    expect(form).to.include('alert(').and.not.include('<script>alert');
    // The same form, as its expression and back.
    const [, text] = await post(rule({ id: ruleid, ...when, action: 'text' }));
    expect(text).to.include(`<textarea id="condition"`).and.include('new.total is null');
    const expression = { id: ruleid, view: 'text', condition: condition! };
    const [, again] = await post(rule({ ...expression, action: 'rows' }));
    expect(again)
      .to.match(/id="if_1_0_column"/)
      .and.include('data-unsaved="yes"');
    const [kept] = await post(rule({ name: 'rows', ...expression, action: 'save' }));
    expect([kept, await saved('rows')]).to.deep.equal([303, { ruleid, condition }]);
  });

  it('shows an expression that says more than rows as text, and keeps it', async () => {
    const condition = "new.status = 'x' and (new.total > 1 or new.paid)";
    const [status] = await post(rule({ name: 'text', view: 'text', condition, action: 'save' }));
    expect(status).to.equal(303);
    const { ruleid } = await saved('text');
    expect(await browser.page(`${RULE}?id=${ruleid}`))
      .to.include('<textarea id="condition"')
      .and.not.include('if_0_0');
    const [, html] = await post(rule({ id: ruleid, view: 'text', condition, action: 'rows' }));
    expect(html).to.include('says more than rows').and.include('new.total &gt; 1 or new.paid');
  });

  it('adds, removes and updates rows without JavaScript, and saves nothing by it', async () => {
    const first = await browser.page(RULE);
    expect(first).to.include('Choose a table to compare its columns.').and.include('every such change sends');
    const [, one] = await post(rule({ view: 'rows', action: 'or' }));
    expect(one)
      .to.match(/id="if_0_0_column"[^>]* autofocus/)
      .and.include('<option>status</option>');
    const [, two] = await post(rule({ ...rows([['status', 'is', 'x']]), action: 'and-0' }));
    expect(two)
      .to.match(/id="if_0_1_column"[^>]* autofocus/)
      .and.include('value="x"');
    const [, numbers] = await post(rule({ ...rows([['total', 'contains', 'x']]), action: 'show' }));
    expect(numbers).to.include('type="number"').and.not.include('starts with');
    const [, removed] = await post(
      rule({
        ...rows(
          [
            ['status', 'is', 'x'],
            ['total', 'more', '1'],
          ],
          [['paid', 'empty']],
        ),
        action: 'remove-0-0',
      }),
    );
    expect(removed).to.include('value="1"').and.include('if_1_0_column').and.not.include('value="x"');
    const [, both] = await post(rule({ of_orders: 'on', ...rows([['mood', 'is', 'glad']]), action: 'show' }));
    expect(both).to.include('<option>status</option>').and.include('<option selected>mood</option>');
    expect(both).not.to.include('<option>day</option>');
    for (const action of ['remove-9-9', 'and-7', 'constructor', 'remove-0'])
      expect(
        (await post(rule({ ...rows([['status', 'is', 'x']]), name: '', action })))[0],
        action,
      ).to.be.oneOf([200, 400]);
  });

  it('reports all that is wrong with the rows and the rest at once, in the words of the form', async () => {
    await post(rule({ name: 'taken', action: 'save' }));
    const when = rows([
      ['mood', 'is', 'angry'],
      ['total', 'more', 'many'],
      ['gone', 'is', 'x'],
      ['status', 'is', ''],
      ['', 'is', ''],
    ]);
    const [status, html] = await post(
      rule({ ...when, name: 'taken', email_type: '', query_roleid: '', action: 'save' }),
    );
    expect(status).to.equal(400);
    for (const text of [
      'Not saved.',
      '<a href="#name">Name</a>: There is already a rule with this name.',
      '<a href="#email_type">Send</a>: Choose the email to send.',
      '<a href="#query_roleid">Read data as</a>: Choose whose rights',
      '<a href="#if_0_0_value">Only if mood</a>: Choose a value.',
      '<a href="#if_0_1_value">Only if total</a>: Enter a number, such as 12.50.',
      '<a href="#if_0_2_column">Only if gone</a>: There is no column gone.',
      '<a href="#if_0_3_value">Only if status</a>: Enter a text on one line.',
      'value="many"',
    ])
      expect(html, text).to.include(text);
    const inserts = without('on_update', rule({ name: 'never', on_insert: 'on' }));
    const [refused, never] = await post({ ...inserts, ...rows([['status', 'was_is', 'x']]), action: 'save' });
    expect(refused).to.equal(400);
    expect(never)
      .to.include('This is never true. A row that is added has no values from before.')
      .and.not.include('line 1');
  });

  it('tries the form on past changes, and shows the email for one', async () => {
    for (const status of ['paid', 'open', 'paid']) await shop.changeOrder(7, 'new', status);
    const form = without('of_visit', rule({ of_orders: 'on', ...rows([['status', 'becomes', 'paid']]) }));
    const [status, html] = await post({ ...form, action: 'try' });
    expect(status).to.equal(200);
    expect(html)
      .to.include('Would have matched 2 of the last')
      .and.include('data-unsaved="yes"')
      .and.include('Other rules send for these changes as well.')
      .and.include('Paid orders</a> sends confirmation for 2 of them.');
    const [, eventid = ''] = /name="eventid" value="(\d+)"/.exec(html) ?? [];
    const [shown, email] = await post({ ...form, eventid }, '/console/rules/preview');
    expect([shown, email.includes('<h1>Order 7 is paid</h1>')], email).to.deep.equal([200, true]);
    const [none, nothing] = await post(rule({ ...rows([['status', 'is', EVIL]]), action: 'try' }));
    expect([none, nothing.includes('There is nothing to compare with.')]).to.deep.equal([200, true]);
    expect(nothing)
      .to.include('No such change of visit is kept. Changes are kept for 30 days')
      .and.not.include('<script>alert');
    const [wrong, problems] = await post(rule({ ...rows([['total', 'is', 'x']]), action: 'try' }));
    expect([wrong, problems.includes('Not tried.')]).to.deep.equal([400, true]);
    const other = await shop.signedIn('other');
    const stolen = await other.post('/console/rules/preview', {
      ...form,
      csrf: await other.csrf('/console/rules'),
      eventid,
    });
    expect(await stolen.text()).not.to.include('Order 7');
  });

  it('says when another rule may send for the same changes, after saving too', async () => {
    const form = without('of_visit', rule({ of_orders: 'on', name: 'again', enabled: 'on' }));
    const response = await browser.post(RULE, {
      ...form,
      ...rows([['status', 'becomes', 'paid']]),
      action: 'save',
    });
    const { ruleid } = await saved('again');
    expect(response.headers.get('location')).to.equal(`${RULE}?id=${ruleid}&done=saved`);
    expect(await browser.page(`${RULE}?id=${ruleid}&done=saved`))
      .to.include('role="status">Saved.')
      .and.include('Other rules may send for the same changes.')
      .and.include('Paid orders</a> sends confirmation.');
    const apart = await browser.post(RULE, {
      ...form,
      id: ruleid,
      ...rows([['status', 'is', 'lost']]),
      action: 'save',
    });
    expect(apart.headers.get('location')).to.equal('/console/rules?done=saved');
  });

  it('bears hostile names and values, and tables of 1,500 columns', async () => {
    const [status, html] = await post(
      rule({
        ...rows([
          [EVIL, EVIL, EVIL],
          ['__proto__', 'constructor', '\u0000'],
          ['mood', 'is', EVIL],
        ]),
        id: EVIL,
        action: 'show',
      }),
    );
    expect([status, html.includes('<script>alert')]).to.deep.equal([200, false]);
    const many = Object.fromEntries(
      Array.from({ length: 41 }, (_, index) =>
        Object.entries(rows([['status', 'is', 'x']])).map(([name, value]) => [
          name.replace('_0_0_', `_0_${index}_`),
          value,
        ]),
      ).flat(),
    ) as Record<string, string>;
    const [full, tooMany] = await post(rule({ ...many, action: 'save' }));
    expect([full, tooMany.includes('The form has at most 40 rows.')]).to.deep.equal([400, true]);
    expect(
      (await browser.post(RULE, rule({ ...rows([['status', 'is', 'x'.repeat(1_048_576)]]), action: 'save' })))
        .status,
    ).to.equal(413);
    const wide = without('of_visit', rule({ of_wide: 'on' }));
    const group = Array.from({ length: 40 }, (_, index) => [`c${index}`, 'more', '1'] as const);
    const [ok, large] = await post({ ...wide, name: 'wide', ...rows(group), action: 'show' });
    expect([ok, large.length < 400_000, large.split('<option value="c1489">').length]).to.deep.equal([
      200,
      true,
      2,
    ]);
    const [made] = await post({ ...wide, name: 'wide', ...rows(group), action: 'save' });
    expect([made, (await saved('wide')).condition?.split(' and ').length]).to.deep.equal([303, 40]);
  });

  it('shows columns and trials to nobody but administrators of the tenant', async () => {
    for (const login of ['clerk', 'viewer']) {
      const clerk = await shop.signedIn('shop', login);
      const token =
        /name="csrf" value="([^"]+)"/.exec(await (await clerk.get('/console/why')).text())?.[1] ?? '';
      for (const [path, action] of [
        [RULE, 'show'],
        [RULE, 'try'],
        [RULE, 'save'],
        ['/console/rules/preview', ''],
      ] as const) {
        const response = await clerk.post(path, {
          ...rule(rows([['status', 'is', 'x']])),
          csrf: token,
          action,
        });
        expect(
          [response.status, (await response.text()).includes('<option>day')],
          `${login} ${path} ${action}`,
        ).to.deep.equal([403, false]);
      }
    }
    const other = await shop.signedIn('other');
    const response = await other.post(RULE, { ...rule(), csrf: await other.csrf(RULE), action: 'show' });
    expect(await response.text()).not.to.include('<option>day');
  });
});

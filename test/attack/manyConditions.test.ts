import { expect } from 'chai';
import { MAX_ROWS } from '../../src/api/console/conditionForm.js';
import { runTenantSql } from '../../src/db/tenants/tenantSql.js';
import type { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { watchEventLoop } from '../support/loopBlocks.js';

const RULE = '/console/rules/edit';
/** Columns of the table, and labels of each, that a row of the form repeats. */
const MENU = 190;
/** It took ten seconds. */
const MAX_MS = 1_000;

describe('attack: the form of a rule with rows without end, each with all columns and labels', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;
  let csrf: string;
  before(async () => {
    shop = await ConsoleShop.open();
    const labels = Array.from({ length: MENU }, (_, n) => `'l${n}'`);
    const columns = Array.from({ length: MENU }, (_, n) => `c${n} l`);
    await runTenantSql(shop.fixture.testDatabase.database, {
      tenantid: shop.tenantid,
      sql: `create type l as enum (${labels.join(', ')}); create table w (id int primary key, ${columns.join(', ')})`,
    });
    await shop.fixture.control(shop.root, '{ Utility { introspect } }');
    browser = await shop.signedIn();
    csrf = await browser.csrf('/console/rules');
  });
  after(() => shop.close());

  /** As many as fit into a form. */
  const rows = Object.fromEntries(
    Array.from({ length: 3_000 }, (_, n): [string, string] => [`if_0_${n}_column`, 'c1']),
  );

  for (const action of ['show', 'or', 'save'])
    it(`shows one more than it takes: ${action}`, async () => {
      const longestMs = watchEventLoop();
      const response = await browser.post(RULE, {
        csrf,
        action,
        of_w: 'on',
        on_insert: 'on',
        view: 'rows',
        ...rows,
      });
      const shown = (await response.text()).match(/name="if_\d+_\d+_column"/g)?.length;
      expect(longestMs()).to.be.below(MAX_MS);
      expect(shown).to.be.within(MAX_ROWS + 1, MAX_ROWS + 2);
    });
});

import { existsSync } from 'node:fs';
import { expect } from 'chai';
import { chromium, type Browser, type Page } from 'playwright-core';
import type { CreatedTenant } from '../../src/db/control/tenants.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from './webFixture.js';

const CHROMIUM = process.env['CHROMIUM'] ?? '/usr/bin/chromium';
const HTML = { headers: { accept: 'text/html' } };

describe('the console', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'acme',
      `create table book (book_id int primary key, title text not null, price numeric(8, 2));
       insert into book values (1, 'Letters from nowhere', 12.50), (2, 'The long column', 7.00);
       create table shelf (shelf_id int primary key, book_id int references book);`,
    );
  });
  after(() => fixture.stop());

  for (const path of ['/query', '/roles_pbac']) {
    it(`is what a browser is shown at ${path}, from files of our own`, async () => {
      const response = await fixture.fetch(path, HTML);
      expect(response.headers.get('content-type')).to.match(/^text\/html/);
      expect(response.headers.get('content-security-policy')).to.include("script-src 'self'");
      const html = await response.text();
      expect(html).not.to.match(/(src|href)="(https?:)?\/\//);
      const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');
      expect(files).to.have.length.above(1);
      for (const file of files) expect((await fixture.fetch(file)).status, file).to.equal(200);
    });
  }

  // A machine without Chromium still knows that page and files are there.
  if (existsSync(CHROMIUM)) {
    describe('in Chromium', () => {
      let browser: Browser;
      before(async () => {
        browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] });
      });
      after(() => browser.close());

      /** A tab in a profile of its own that must stay with this server and have nothing to complain of. */
      async function open(path: string, colorScheme: 'light' | 'dark' = 'light'): Promise<Page> {
        const context = await browser.newContext({ colorScheme, viewport: { width: 1280, height: 760 } });
        const page = await context.newPage();
        page.on('request', (request) => {
          const url = request.url();
          if (!url.startsWith(fixture.url) && !url.startsWith('data:')) strangers.push(url);
        });
        page.on('console', (message) => complaints.push(message.text()));
        page.on('pageerror', (error) => complaints.push(error.message));
        await page.goto(`${fixture.url}${path}`);
        return page;
      }
      const strangers: string[] = [];
      const complaints: string[] = [];
      afterEach(() => {
        expect(strangers.splice(0), 'requests to elsewhere').to.deep.equal([]);
        expect(complaints.splice(0), 'complaints of the browser').to.deep.equal([]);
      });

      const signIn = async (page: Page, password: string): Promise<void> => {
        await page.getByLabel('Tenant').fill(String(tenant.tenantid));
        await page.getByLabel('Login').fill(ROOT_LOGIN);
        await page.getByLabel('Password').fill(password);
        await page.getByRole('button', { name: 'Sign in' }).click();
      };
      const answer = (page: Page) => page.getByLabel('Answer').locator('pre');
      const shoot = async (page: Page, name: string): Promise<void> => {
        const folder = process.env['SCREENSHOTS'];
        if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
      };

      for (const [path, rows] of [
        ['/query', 'Letters from nowhere'],
        ['/roles_pbac', '"data": {'],
      ] as const) {
        it(`takes a token at ${path}, runs the query that it begins with and shows the docs`, async () => {
          const { access_token } = await fixture.signIn(tenant.tenantid, ROOT_LOGIN, ROOT_PASSWORD);
          const page = await open(path, path === '/query' ? 'light' : 'dark');
          await page.getByLabel('Access token').fill(access_token);
          await page.getByLabel('Access token').press('Enter');
          const docs = page.getByRole('complementary', { name: 'Docs' });
          await docs.getByRole('heading', { name: 'Query', exact: true }).waitFor();
          await page.getByRole('button', { name: 'Run' }).click();
          await answer(page).getByText(rows).waitFor();
          expect(await page.getByRole('status').innerText()).to.match(/^200 in /);
          await shoot(page, path.slice(1));
          const toggle = page.getByRole('button', { name: 'Docs' });
          await toggle.click();
          expect(await docs.isVisible()).to.equal(false);
          await toggle.click();
          await docs.getByLabel('Find a field or a type').fill(path === '/query' ? 'price' : 'password');
          const types = await docs.getByRole('heading', { level: 3 }).allInnerTexts();
          expect(types).to.include(path === '/query' ? 'book' : 'roleInput');
          expect(types).not.to.include(path === '/query' ? 'shelf' : 'capability');
        });
      }

      it('signs in after a failure without a trace of it, says who is signed in, and signs out', async () => {
        const page = await open('/query');
        await shoot(page, 'signed-out');
        const refused = page.waitForResponse('**/auth');
        await signIn(page, 'wrong');
        await refused;
        await answer(page).getByText('LOGIN_FAILED').waitFor();
        // The browser itself reports the 401.
        expect(complaints.splice(0)).to.have.length(1);
        await signIn(page, ROOT_PASSWORD);
        await page.getByText(`${ROOT_LOGIN} of tenant ${tenant.tenantid}`).waitFor();
        expect(await answer(page).innerText()).to.equal('');
        expect(await page.getByRole('status').innerText()).to.equal('Logged in as root.');
        expect(await page.getByLabel('Password').isVisible()).to.equal(false);
        await page.getByLabel('GraphQL document').fill('{ shelf { shelf_id } }');
        await page.keyboard.press('Control+Enter');
        await answer(page).getByText('"shelf": []').waitFor();
        await page.reload();
        await page.getByText(`${ROOT_LOGIN} of tenant ${tenant.tenantid}`).waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        expect(await page.getByLabel('Access token').inputValue()).to.equal('');
        expect(await page.getByLabel('Password').isVisible()).to.equal(true);
        expect(await page.evaluate('sessionStorage.length')).to.equal(0);
      });
    });
  }
});

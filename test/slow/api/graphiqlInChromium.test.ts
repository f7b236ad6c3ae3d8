import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import type { CreatedTenant } from '../../../src/control/tenants/tenants.js';
import { waitFor } from '../../support/waitFor.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../../api/webFixture.js';
import { collectComplaints, HAS_CHROMIUM, openTab, startChromium } from '../../support/chromium.js';

const HTML = { headers: { accept: 'text/html' } };

describe('the console', () => {
  let fixture: WebFixture;
  let tenant: CreatedTenant;
  before(async () => {
    fixture = await WebFixture.start();
    tenant = await fixture.createTenant(
      'acme',
      `create table book (book_id int primary key, title text not null, price numeric(28, 2));
       insert into book values (1, 'Letters from nowhere', 12345678901234567890.50), (2, 'The long column', 7.00);
       create table shelf (shelf_id int primary key, book_id int references book);`,
    );
  });
  after(() => fixture.stop());

  for (const path of ['/query', '/roles_pbac']) {
    it(`is served to browsers at ${path}, from local files only`, async () => {
      const response = await fixture.fetch(path, HTML);
      expect(response.headers.get('content-type')).to.match(/^text\/html/);
      expect(response.headers.get('content-security-policy')).to.match(/script-src 'nonce-[\w-]{22}';/);
      const html = await response.text();
      expect(html).not.to.match(/(src|href)="(https?:)?\/\//);
      const files = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+)"/g)].map(([, file]) => file ?? '');
      expect(files.join(' ')).to.match(
        /react-18[^ ]+ .*react-dom-18[^ ]+ .*graphiql-3[^ ]+\.js .*graphiql-3[^ ]+\.css /,
      );
      for (const file of files) expect((await fixture.fetch(file)).status, file).to.equal(200);
    });
  }

  it('allows only its own scripts and styles, with a fresh nonce for each response', async () => {
    const policyOf = async (path: string): Promise<string> =>
      (await fixture.fetch(path, HTML)).headers.get('content-security-policy') ?? '';
    const policy = await policyOf('/query');
    expect(policy)
      .to.include("default-src 'none'")
      .and.not.to.match(/unsafe|https?:|\*/);
    expect(policy)
      .to.match(/style-src 'nonce-[\w-]{22}';/)
      .and.not.to.equal(await policyOf('/query'));
    expect(await policyOf('/signin')).not.to.include('nonce');
  });

  it('serves the files of GraphiQL compressed and immutable, and no other files of the package', async () => {
    const html = await (await fixture.fetch('/query', HTML)).text();
    const file = /"(\/assets\/graphiql-[^"]+\.js)"/.exec(html)?.[1] ?? '';
    const [whole, small] = await Promise.all(
      ['identity', 'gzip'].map((encoding) =>
        fixture.fetch(file, { headers: { 'accept-encoding': encoding } }),
      ),
    );
    expect(small?.headers.get('cache-control')).to.equal('public, max-age=31536000, immutable');
    expect(small?.headers.get('content-encoding')).to.equal('gzip');
    expect(whole?.headers.get('content-encoding')).to.equal(null);
    expect(await small?.text()).to.equal(await whole?.text());
    for (const other of ['package.json', 'graphiql.min.js.map', '..%2Fpackage.json']) {
      expect((await fixture.fetch(file.replace(/[^/]+$/, other))).status, other).to.equal(404);
    }
  });

  // A machine without Chromium still knows that page and files are there.
  if (HAS_CHROMIUM) {
    describe('in Chromium', () => {
      let browser: Browser;
      before(async () => {
        browser = await startChromium();
      });
      after(() => browser.close());

      /** A tab in a profile of its own that must stay with this server and have nothing to complain of. */
      async function open(
        path: string,
        colorScheme: 'light' | 'dark' = 'light',
        viewport = { width: 1280, height: 760 },
      ): Promise<Page> {
        const page = await openTab(browser, { colorScheme, viewport });
        page.on('request', (request) => {
          const url = request.url();
          if (!url.startsWith(fixture.url) && !url.startsWith('data:')) strangers.push(url);
        });
        collectComplaints(page, complaints);
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
      const status = (page: Page) => page.getByRole('status').first();
      const response = (page: Page) => page.getByRole('region', { name: 'Result Window' });
      const run = (page: Page): Promise<void> => page.getByRole('button', { name: 'Execute query' }).click();
      /** What stands in the editor that is shown. */
      const editor = (page: Page) => page.getByRole('region', { name: 'Query Editor' });
      const write = async (page: Page, text: string): Promise<void> => {
        await editor(page).locator('.CodeMirror-lines').click();
        await page.keyboard.press('Control+a');
        await page.keyboard.insertText(text);
      };
      const shoot = async (page: Page, name: string): Promise<void> => {
        const folder = process.env['SCREENSHOTS'];
        if (folder) await page.screenshot({ path: `${folder}/${name}.png` });
      };

      for (const [path, rows, type, field] of [
        ['/query', '12345678901234567890.50', 'book', 'price'],
        ['/roles_pbac', '"tenantid"', 'roleInput', 'password'],
      ] as const) {
        it(`accepts a token at ${path}, runs the initial query and shows the docs`, async () => {
          const { access_token } = await fixture.signIn(tenant.tenantid, ROOT_LOGIN, ROOT_PASSWORD);
          const page = await open(path, path === '/query' ? 'light' : 'dark');
          await page.getByLabel('Access token').fill(access_token);
          await page.getByLabel('Access token').press('Enter');
          await editor(page).getByText('limit').waitFor();
          await run(page);
          await response(page).getByText(rows).waitFor();
          await page.getByRole('button', { name: 'Add tab' }).click();
          await editor(page).getByText('limit').waitFor();
          await page.getByRole('button', { name: 'Close Tab' }).last().click();
          expect(await status(page).innerText()).to.match(/^200 in /);
          await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
          await page.locator('.graphiql-doc-explorer').getByText(type, { exact: true }).click();
          await page.locator('.graphiql-doc-explorer').getByText(field, { exact: true }).waitFor();
          await shoot(page, path.slice(1));
          await page.getByRole('button', { name: 'Open settings dialog' }).click();
          await page.getByRole('dialog').getByRole('button', { name: 'Dark' }).click();
          await page.locator('body.graphiql-dark').waitFor();
        });
      }

      it('sends no request without a token, and says what to do', async () => {
        const page = await open('/query', 'light', { width: 420, height: 800 });
        const asked: string[] = [];
        page.on('request', (request) => asked.push(request.url()));
        await editor(page).getByText('Sign in').waitFor();
        await page.getByRole('button', { name: 'Re-fetch GraphQL schema' }).click();
        await page.getByRole('button', { name: 'Show Documentation Explorer' }).click();
        await page.getByText('No GraphQL schema available').waitFor();
        expect(await status(page).innerText()).to.match(/^Sign in/);
        expect(asked).to.deep.equal([]);
        await shoot(page, 'narrow');
      });

      it('stays usable when a token is refused, and says why', async () => {
        const page = await open('/query');
        await page.getByLabel('Access token').fill('no.such.token');
        const refused = page.waitForResponse((response) => response.status() >= 400);
        await page.getByLabel('Access token').press('Enter');
        const { error } = (await (await refused).json()) as { readonly error: string };
        await status(page).getByText(error).waitFor();
        await run(page);
        await response(page).getByText(error).waitFor();
        // The browser itself reports each refusal: two of the schema, which GraphiQL asks for in two ways, one of the run.
        expect(complaints.splice(0)).to.have.length(3);
      });

      it('signs in after a failure and clears its message, says who is signed in, and signs out', async () => {
        const page = await open('/query');
        await shoot(page, 'signed-out');
        await signIn(page, 'wrong');
        await page.locator('#status.failed').waitFor();
        expect(await status(page).innerText()).not.to.equal('');
        // The browser itself reports the 401.
        expect(complaints.splice(0)).to.have.length(1);
        await signIn(page, ROOT_PASSWORD);
        await page.getByText(`${ROOT_LOGIN} of tenant ${tenant.tenantid}`).waitFor();
        expect(await status(page).innerText()).to.equal('Logged in as root.');
        expect(await page.getByLabel('Password').isVisible()).to.equal(false);
        await editor(page).getByText('limit').waitFor();
        await write(page, '{ shelf { shelf_id } }');
        await page.keyboard.press('Control+Enter');
        await response(page).getByText('"shelf"').waitFor();
        // GraphiQL keeps what is written half a second later.
        const kept = (): Promise<string> => page.evaluate(`localStorage.getItem('/query graphiql:tabState')`);
        await waitFor('the document in storage', async () => (await kept()).includes('shelf_id'));
        await page.reload();
        await page.getByText(`${ROOT_LOGIN} of tenant ${tenant.tenantid}`).waitFor();
        await editor(page).getByText('shelf_id').waitFor();
        await page.getByRole('link', { name: '/roles_pbac' }).click();
        await editor(page).getByText('limit').waitFor();
        expect(await editor(page).innerText()).not.to.include('shelf_id');
        await run(page);
        await response(page).getByText('"data"').waitFor();
        await page.getByRole('button', { name: 'Sign out' }).click();
        await page.getByText('Sign in, or paste a token').waitFor();
        expect(await response(page).innerText()).not.to.include('data');
        expect(await page.getByLabel('Access token').inputValue()).to.equal('');
        expect(await page.getByLabel('Password').isVisible()).to.equal(true);
        expect(await page.evaluate('sessionStorage.length')).to.equal(0);
        expect(await page.evaluate('JSON.stringify(localStorage)')).not.to.match(/eyJ|Bearer/);
      });
    });
  }
});

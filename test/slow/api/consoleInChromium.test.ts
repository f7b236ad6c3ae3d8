import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { countDeliveries } from '../../../src/db/ledger/countDeliveries.js';
import { ConsoleShop } from '../../api/consoleShop.js';
import { PXADMIN_PASSWORD, ROOT_LOGIN, ROOT_PASSWORD, textAt } from '../../api/webFixture.js';
import { collectComplaints, HAS_CHROMIUM, openTab, startChromium } from '../../support/chromium.js';

const AXE = readFileSync(new URL('../../../node_modules/axe-core/axe.min.js', import.meta.url), 'utf8');
const PHONE = { width: 390, height: 800 };

// A machine without Chromium still walks the same pages over HTTP: consoleSession.test.ts, consoleDeliveries.test.ts.
if (HAS_CHROMIUM) {
  describe('the console in Chromium', () => {
    let shop: ConsoleShop;
    let browser: Browser;
    let failed: string;
    let sent: string;
    let clerk: string;
    let policy: string;
    let staff: string;
    const complaints: string[] = [];

    before(async () => {
      browser = await startChromium();
      shop = await ConsoleShop.open();
      const order = await shop.changeOrder(7, 'new', 'paid');
      for (const [state, error_code, subject] of TROUBLES) {
        await shop.deliver(order, {
          state,
          error_code,
          error: null,
          subject,
          recipients: ['Ada <ada@example.com>'],
        });
      }
      sent = await shop.deliver(order, { state: 'sent', subject: 'Order 7', recipients: LONG_LIST });
      await shop.attempt(sent, { attempt: 1, outcome: 'retry', http_status: 503, error: 'come back later' });
      await shop.attempt(sent, { attempt: 2, outcome: 'sent', http_status: 202 });
      await shop.keepEmail(sent, 2, {
        sender: { name: 'Shop', email: 'shop@example.com' },
        recipients: [{ name: 'Ada', email: 'ada@example.com' }],
        cc: [],
        bcc: [],
        subject: 'Order 7 is ' + 'a-very-long-word'.repeat(8),
        html: '<h1>Thank you, Ada</h1>',
        text: `Thank you, Ada\n${'a-very-long-word'.repeat(12)}`,
        headers: { 'List-Unsubscribe': `<https://example.com/${'x'.repeat(150)}>` },
        attachments: [{ filename: 'invoice.pdf', mimetype: 'application/pdf', size: 7, objectkey: 'k' }],
      });
      await shop.report(sent, { event: 'delivered' });
      await shop.fixture.control(
        shop.root,
        `mutation {
          suppressed: create_email_suppression(input: { address: "ada@example.com", reason: "asked by phone" }) { address }
          create_email_suppression(input: { address: "${'long'.repeat(12)}@example.com", reason: "asked by phone" }) { address }
          create_email_unsubscribe(input: { address: "ada@example.com", email_types: ["confirmation"] }) { address }
        }`,
      );
      const found = await shop.fixture.control(shop.root, `{ role(filter: "login = 'clerk'") { roleid } }`);
      clerk = textAt(found, 'data.role.0.roleid');
      await shop.fixture.control(
        shop.root,
        `mutation { create_api_key(input: {roleid: ${clerk}, name: "Web shop", capabilities: ["select"]}) { keyid } }`,
      );
      await countDeliveries(shop.fixture.testDatabase.database.pool);
      const made = await shop.fixture.control(
        shop.root,
        `mutation {
          create_role_class(input: { name: "staff of ${'a-very-long-word'.repeat(6)}", members: [${clerk}], inherit: "full",
            capabilities: ["view_delivery", "edit_email"] }) { classid }
          create_policy_rule(input: { name: "Orders of ${'a-very-long-word'.repeat(6)}", capabilities: ["select", "update"],
            targets: ["orders"], roles: [${clerk}], filter: "status = 'paid' and customer != '${'x'.repeat(120)}'" }) { ruleid }
        }`,
      );
      policy = textAt(made, 'data.create_policy_rule.ruleid');
      staff = textAt(made, 'data.create_role_class.classid');
      await shop.fixture.control(
        shop.root,
        'mutation { update_email_type(email_type: "confirmation", input: { preheader: "Thank you" }) { version } }',
      );
      failed = await shop.deliver(order, {
        state: 'failed',
        error_code: 'TEMPLATE_FAILED',
        error: 'template, line 3, column 12: there is no filter "currency"',
        subject: 'A subject with <b>markup</b> and ' + 'a-very-long-word'.repeat(8),
        recipients: ['Ada <ada@example.com>'],
      });
      await shop.attempt(failed, { attempt: 1, outcome: 'failed', error: 'there is no filter "currency"' });
      await shop.count();
    });
    after(async () => {
      await browser.close();
      await shop.close();
    });
    afterEach(() => {
      expect(complaints.splice(0), 'complaints of the browser').to.deep.equal([]);
    });

    async function open(path: string, options: BrowserContextOptions = {}): Promise<Page> {
      const page = await openTab(browser, options);
      collectComplaints(page, complaints);
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(shop.fixture.url) && !url.startsWith('data:'))
          complaints.push(`asked for ${url}`);
      });
      await page.goto(shop.fixture.url + path);
      return page;
    }
    async function signIn(page: Page): Promise<void> {
      await page.getByLabel('Tenant').fill('shop');
      await page.keyboard.press('Enter');
      await page.getByLabel('Login').fill(ROOT_LOGIN);
      await page.getByLabel('Password').fill(ROOT_PASSWORD);
      await page.keyboard.press('Enter');
      // Once it is loaded, its scripts run.
      await page.waitForURL(({ pathname }) => !pathname.startsWith('/console/sign-in'));
    }
    const shoot = async (page: Page, name: string): Promise<void> => {
      const folder = process.env['SCREENSHOTS'];
      if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
    };
    /** What axe-core objects to in a page; the email in a frame is somebody else's. */
    const violations = async (page: Page): Promise<readonly string[]> => {
      await page.evaluate(AXE);
      return page.evaluate(`axe.run(document, { resultTypes: ['violations'], iframes: false, preload: false })
        .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html.slice(0, 120))))`);
    };
    /**
     * Whether each page stands: no wider than the window, below a header of the same height, nothing that axe-core objects to,
     * no field without a label, and in forms none beside its label.
     */
    const look = async (
      page: Page,
      name: string,
      views: readonly (readonly [view: string, path: string])[],
    ): Promise<void> => {
      const heights = new Set<number>();
      for (const [view, path] of views) {
        await page.goto(`${shop.fixture.url}${path}`);
        await shoot(page, `${name}-${view}`);
        const tooWide = await page.evaluate('document.documentElement.scrollWidth > innerWidth');
        expect(tooWide, `${view} is wider than the window`).to.equal(false);
        expect(await violations(page), `what axe finds in ${view}`).to.deep.equal([]);
        const nameless =
          await page.evaluate(`[...document.querySelectorAll('input:not([type=hidden]), select, textarea')]
          .filter((field) => field.labels.length === 0).map((field) => field.name)`);
        expect(nameless, `fields without a label of ${view}`).to.deep.equal([]);
        const beside = await page.evaluate(`[...document.querySelectorAll('.fields label[for]')]
          .filter(({ control }) => control?.checkVisibility() && !['checkbox', 'radio'].includes(control.type))
          .filter((label) => !label.classList.contains('hidden'))
          .filter((label) => label.getBoundingClientRect().bottom > label.control.getBoundingClientRect().top + 1)
          .map((label) => label.textContent)`);
        expect(beside, `labels beside their field of ${view}`).to.deep.equal([]);
        const isBeside = await page.evaluate(
          `document.querySelector('.user').getBoundingClientRect().top < document.querySelector('.brand').getBoundingClientRect().bottom`,
        );
        expect(isBeside || name === 'phone', `the user of ${view} is beside the brand`).to.equal(true);
        heights.add(await page.evaluate<number>('document.querySelector("header.top").offsetHeight'));
      }
      expect([...heights], 'heights of the header').to.have.length(1);
    };
    /** Presses Tab until what is looked for has the focus. */
    const tabTo = async (page: Page, name: string | RegExp): Promise<void> => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press('Tab');
        const focused = page.locator(':focus');
        if ((await focused.count()) === 0) continue;
        const text = (await focused.innerText()).trim();
        if (typeof name === 'string' ? text === name : name.test(text)) return;
      }
      throw new Error(`no Tab leads to ${String(name)}`);
    };

    it('is operable by keyboard and without JavaScript, from the sign-in to a redrive', async () => {
      const page = await open('/console/failures?within=all', { javaScriptEnabled: false });
      await signIn(page);
      await page.getByRole('heading', { name: 'Failures', exact: true }).waitFor();
      await tabTo(page, 'The template failed');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
      await tabTo(page, /^A subject with/);
      await page.keyboard.press('Enter');
      await page.getByText('a template failed, or exceeded its limits').waitFor();
      await tabTo(page, 'Send again…');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Send again?' }).waitFor();
      await tabTo(page, 'Send again');
      await page.keyboard.press('Enter');
      await page.getByRole('status').getByText('It is being sent again.').waitFor();
      await tabTo(page, 'Sign out');
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    });

    it('sends a form once, however often its button is clicked', async () => {
      const page = await open('/console/roles/edit');
      await signIn(page);
      await page.getByLabel('Name', { exact: true }).fill('impatient');
      const button = page.getByRole('button', { name: 'Save' });
      await button.scrollIntoViewIfNeeded();
      const { x, y } = (await button.boundingBox())!;
      for (let click = 0; click < 3; click++) await page.mouse.click(x + 5, y + 5);
      await page.getByRole('status').getByText('Saved.').waitFor();
      const { data } = (await shop.fixture.control(
        shop.root,
        `{ role(filter: "name = 'impatient'") { roleid } }`,
      )) as { data: { role: readonly unknown[] } };
      expect(data.role).to.have.length(1);
      // A preview is no such form, and the same page sends another one once it was shown again.
      await page.getByLabel('Name', { exact: true }).fill('patient');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('heading', { name: 'patient', exact: true }).waitFor();
      await page.context().close();
    });

    it('asks before unsaved changes of an email or a rule are lost', async () => {
      const page = await open('/console/emails/edit?type=confirmation');
      const asked: string[] = [];
      let stay = true;
      page.on('dialog', (dialog) => {
        asked.push(dialog.type());
        // Chromium may say that it is gone already: what the page shows afterwards is what counts.
        (stay ? dialog.dismiss() : dialog.accept()).catch(() => undefined);
      });
      await signIn(page);
      const leave = (): Promise<void> => page.getByRole('link', { name: 'Failures' }).click();
      await page.getByLabel('Subject', { exact: true }).fill('Not saved yet');
      await page.getByRole('button', { name: 'Preview', exact: true }).click();
      const question = page.waitForEvent('dialog');
      await leave();
      await question;
      expect(asked.splice(0)).to.deep.equal(['beforeunload']);
      expect(await page.getByLabel('Subject', { exact: true }).inputValue()).to.equal('Not saved yet');
      await page.getByRole('button', { name: 'Save' }).click();
      await page.getByRole('status').getByText('Saved.').waitFor();
      expect(asked).to.deep.equal([]);
      await page.getByRole('textbox', { name: 'Template (HTML)' }).focus();
      await page.keyboard.type('x');
      stay = false;
      await leave();
      await page.getByRole('heading', { name: 'Failures' }).waitFor();
      expect(asked.splice(0), 'of what was typed in the editor').to.deep.equal(['beforeunload']);
      await page.goto(`${shop.fixture.url}/console/rules/edit?id=${shop.ruleid}`);
      await leave();
      await page.getByRole('heading', { name: 'Failures' }).waitFor();
      expect(asked, 'nothing was changed').to.deep.equal([]);
      await page.context().close();
    });

    it('makes and tries a rule by keyboard alone, without an expression', async () => {
      await shop.fixture.control(
        shop.root,
        'mutation { update_email_type(email_type: "confirmation", input: { subject: "Paid: {{ records.new.order_id }}" }) { version } }',
      );
      const page = await open('/console/rules/edit');
      await signIn(page);
      await page.getByLabel('Name').fill('By keyboard');
      await page.getByLabel('orders').press('Space');
      await page.getByLabel('changed', { exact: true }).press('Space');
      await page.getByRole('button', { name: 'Add a condition' }).press('Enter');
      const column = page.getByLabel('Column');
      await column.and(page.locator(':focus')).waitFor();
      const exchanged = page.waitForResponse((response) => response.request().method() === 'POST');
      await column.pressSequentially('status');
      await exchanged;
      expect(await column.inputValue()).to.equal('status');
      await page.getByLabel('Value').fill('paid');
      await page.getByLabel('Send', { exact: true }).fill('confirmation');
      await page.getByLabel('Read data as').selectOption({ index: 1 });
      await page.getByRole('button', { name: 'Try it' }).press('Enter');
      await page.getByText(/Would have matched \d+ of/).waitFor();
      expect(await violations(page), 'what axe finds in a trial').to.deep.equal([]);
      const email = page.frameLocator('iframe[name=email]');
      await email.locator('h1', { hasText: 'Paid: 7' }).waitFor();
      await page.getByLabel('Value').press('Enter');
      await page.getByRole('status').getByText('Saved.').waitFor();
      await page.context().close();
    });

    it('shows new deliveries while the list is open', async () => {
      const page = await open('/console/deliveries?within=all&subject=just+now');
      await signIn(page);
      await page.getByText('No delivery matches').waitFor();
      await shop.deliver(await shop.changeOrder(7, 'new', 'paid'), { state: 'sent', subject: 'just now' });
      await page.getByRole('link', { name: 'just now' }).waitFor();
      await page.context().close();
    });

    for (const [name, options] of [
      ['light', { colorScheme: 'light', viewport: { width: 1280, height: 800 } }],
      ['dark', { colorScheme: 'dark', viewport: { width: 1280, height: 800 } }],
      ['phone', { colorScheme: 'light', viewport: PHONE }],
    ] as const) {
      it(`makes an email from a starter and its rule with five clicks and one field: ${name}`, async () => {
        const page = await open('/console/emails/new', options);
        await signIn(page);
        await page.getByRole('link', { name: 'Order confirmation' }).click();
        await page.getByText('It is about rows of orders.').waitFor();
        await page.getByLabel('To', { exact: true }).fill('ada@example.com');
        const shown = page.frameLocator('iframe[name=preview]').frameLocator('iframe >> nth=0');
        await shown.getByText('Thank you, <b>Ada</b>.').waitFor();
        expect(await page.getByRole('button', { name: 'Save' }).isVisible()).to.equal(true);
        await page.evaluate('scrollTo(0, 0)');
        const box = await page.getByRole('button', { name: 'Save', exact: true }).boundingBox();
        if (name !== 'phone') expect(box?.y, 'the main button, without scrolling').to.be.below(800);
        expect(await violations(page)).to.deep.equal([]);
        await shoot(page, `${name}-start`);
        const email = await page.getByLabel('Name', { exact: true }).first().inputValue();
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.getByText('Saved.').waitFor();
        await shoot(page, `${name}-started`);
        await page.getByRole('link', { name: 'Make a rule' }).click();
        await page.getByRole('button', { name: 'Save', exact: true }).click();
        await page.getByText('Saved.').waitFor();
        await page.goto(`${shop.fixture.url}/console/rules`);
        await page.getByRole('link', { name: `${email}: orders`, exact: true }).waitFor();
        await page.context().close();
      });

      it(`does what is chosen with the selected deliveries: ${name}`, async () => {
        const order = await shop.changeOrder(7, 'new', 'paid');
        for (const state of ['failed', 'sent', 'failed'])
          await shop.deliver(order, {
            state,
            error_code: state === 'sent' ? null : 'TEMPLATE_FAILED',
            subject: `Selected ${name}`,
            recipients: ['Ada <ada@example.com>'],
          });
        const page = await open(`/console/deliveries?within=all&subject=Selected+${name}`, options);
        await signIn(page);
        const all = page.getByLabel('All on this page');
        const boxes = page.getByLabel(`Select Selected ${name}`);
        await boxes.first().check();
        expect(await page.evaluate("document.querySelector('[name=all]').indeterminate")).to.equal(true);
        await all.check();
        expect(await boxes.nth(2).isChecked()).to.equal(true);
        await boxes.first().uncheck();
        expect(await all.isChecked()).to.equal(false);
        await boxes.first().check();
        expect(await all.isChecked()).to.equal(true);
        // The list is not exchanged meanwhile.
        await page.getByRole('heading', { name: 'Deliveries' }).click();
        await page.waitForTimeout(5_500);
        expect(await boxes.nth(1).isChecked()).to.equal(true);
        const download = page.waitForEvent('download');
        await page.getByRole('button', { name: 'Export the selected' }).click();
        expect((await download).suggestedFilename()).to.match(/^deliveries-.*\.csv$/);
        await page.getByText('Send again…').click();
        expect(await violations(page)).to.deep.equal([]);
        await shoot(page, `${name}-selection`);
        await page.getByRole('button', { name: 'Send the selected again' }).click();
        await page.getByText('2 deliveries are being sent again.').waitFor();
        expect(await page.locator('li').filter({ hasText: 'It was sent.' }).count()).to.equal(1);
        expect(await violations(page)).to.deep.equal([]);
        await shoot(page, `${name}-selected`);
        await page.context().close();
      });
    }

    for (const [name, options] of [
      ['light', { colorScheme: 'light', viewport: { width: 1280, height: 800 } }],
      ['dark', { colorScheme: 'dark', viewport: { width: 1280, height: 800 } }],
      ['phone', { colorScheme: 'light', viewport: PHONE }],
    ] as const) {
      it(`has no console errors, no missing labels and no horizontal overflow: ${name}`, async function () {
        await shop.fixture.control(
          shop.root,
          'mutation ($logo: String) { Utility { set_sign_in_brand(name: "Paper & Ink", color: "#b3541e", logo: $logo) { name } } }',
          { logo: `data:image/svg+xml;base64,${Buffer.from(LOGO).toString('base64')}` },
        );
        const page = await open('/console/sign-in?tenant=shop', options);
        expect(await violations(page), 'what axe finds in the sign-in page').to.deep.equal([]);
        await shoot(page, `${name}-sign-in`);
        for (const shown of ['', '&done=sent']) {
          await page.goto(`${shop.fixture.url}/console/sign-in/forgotten?tenant=shop${shown}`);
          expect(await violations(page), 'what axe finds about forgotten passwords').to.deep.equal([]);
          expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).to.equal(false);
          await shoot(page, `${name}-forgotten${shown}`);
        }
        await page.goto(`${shop.fixture.url}/console/deliveries?within=all`);
        await signIn(page);
        await page.getByRole('table').waitFor();
        await look(page, name, [
          ['overview', '/console/overview?days=30'],
          ['deliveries', '/console/deliveries?within=all&to=ada&code='],
          ['failures', '/console/failures?within=all'],
          ['delivery', `/console/deliveries/${failed}`],
          ['sent', `/console/deliveries/${sent}`],
          ['email', `/console/deliveries/${failed}/email`],
          ['email-as-sent', `/console/deliveries/${sent}/sent`],
          ['redrive', `/console/deliveries/${sent}/redrive`],
          ['redrive-all', '/console/deliveries/redrive?within=all&state=failed'],
          ['people', '/console/person'],
          ['person', '/console/person?address=ada%40example.com&within=all'],
          ['why', '/console/why?table=orders&key=7'],
          ['rows of a person', '/console/why?person=ada'],
          ['emails', '/console/emails'],
          ['email', '/console/emails/edit?type=confirmation'],
          ['starters', '/console/emails/new'],
          ['starter', '/console/emails/edit?starter=order'],
          ['versions', '/console/emails/versions?type=confirmation'],
          ['rules', '/console/rules'],
          ['suppressed', '/console/addresses'],
          ['sending', '/console/sending'],
          ['unsubscribed', '/console/addresses?list=unsubscribed'],
          ['rule', `/console/rules/edit?id=${shop.ruleid}`],
          ['tables', '/console/tables'],
          ['table', '/console/tables/orders'],
          ['rows', '/console/tables/orders/rows'],
          ['row', `/console/tables/orders/rows/edit?key=${encodeURIComponent('{"order_id":7}')}`],
          ['new row', '/console/tables/orders/rows/edit'],
          ['roles', '/console/roles'],
          ['role', `/console/roles/edit?id=${clerk}`],
          ['invite', '/console/roles/invite'],
          ['policies', '/console/policies'],
          ['brand', '/console/brand'],
          ['account', '/console/account'],
          ['sessions', `/console/sessions?roleid=${clerk}`],
          ['audit', '/console/audit'],
          ['keys', `/console/keys?roleid=${clerk}`],
          ['identity-providers', '/console/identity-providers'],
          ['policy', `/console/policies/edit?id=${policy}`],
          ['classes', '/console/classes'],
          ['class', `/console/classes/edit?id=${staff}`],
        ]);
        await page.goto(`${shop.fixture.url}/console/deliveries/${failed}/email`);
        await page.frameLocator('iframe').getByRole('heading', { name: 'Thank you, <b>Ada</b>' }).waitFor();
        await page.goto(`${shop.fixture.url}/console/emails/edit?type=confirmation`);
        await page.getByLabel('Table', { exact: true }).selectOption('orders');
        await page.getByLabel('Row', { exact: true }).fill('7');
        await page.getByRole('button', { name: 'Preview', exact: true }).click();
        await page
          .frameLocator('iframe[name=preview]')
          .frameLocator('iframe >> nth=0')
          .getByRole('heading', { name: 'Thank you, <b>Ada</b>' })
          .waitFor();
        await shoot(page, `${name}-preview`);
        const editor = page.getByRole('textbox', { name: 'Template (HTML)' });
        const write = async (text: string): Promise<void> => {
          await editor.focus();
          await page.keyboard.press('Control+A');
          await page.keyboard.type(text);
        };
        await write('<h2>While one types: {{ records.new.or');
        await page.getByRole('option', { name: 'order_id' }).waitFor();
        // The list follows the typing by a frame.
        await page.evaluate(
          'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))',
        );
        await shoot(page, `${name}-completion`);
        await page.keyboard.press('Enter');
        await page.keyboard.type(' }}</h2>');
        await page
          .frameLocator('iframe[name=preview]')
          .frameLocator('iframe >> nth=0')
          .getByRole('heading', { name: 'While one types: 7' })
          .waitFor();
        expect(await page.locator('[role=textbox]:focus').count()).to.equal(1);
        await write('{{ records.new.order }}');
        await page.locator('.mark.waiting', { hasText: 'has no "order"' }).waitFor();
        await write('{{ records.new.order_id | no_such }}');
        await page.locator('.mark', { hasText: 'no_such' }).waitFor();
        await shoot(page, `${name}-mistake`);
        expect(await violations(page), 'what axe finds in the editor').to.deep.equal([]);
        await page.context().close();

        const operators = await open('/console', options);
        await operators.getByLabel('Tenant').fill('0');
        await operators.keyboard.press('Enter');
        await operators.getByLabel('Login').fill('pxadmin');
        await operators.getByLabel('Password').fill(PXADMIN_PASSWORD);
        await operators.keyboard.press('Enter');
        await operators.getByRole('heading', { name: 'Overview' }).waitFor();
        await look(operators, name, [
          ['overview-installation', '/console/overview'],
          ['tenants', '/console/tenants'],
          ['providers', '/console/identity-providers'],
        ]);
        await operators.context().close();
      });

      it(`lets a colleague in, who sees what is theirs: ${name}`, async () => {
        const page = await open('/console/roles', options);
        await signIn(page);
        await page.getByRole('heading', { name: 'Roles', exact: true }).waitFor();
        for (const preset of ['Support', 'Editor']) {
          await page.goto(`${shop.fixture.url}/console/roles`);
          await page.getByRole('link', { name: 'Let a colleague in' }).click();
          const login = `${preset}-${name}@example.com`;
          await page.getByLabel('Name', { exact: true }).fill('Ada Lovelace');
          await page.getByLabel('Login', { exact: true }).fill(login);
          await page.getByRole('radio', { name: preset }).check();
          await shoot(page, `${name}-inviting`);
          await page.getByRole('button', { name: 'Let in' }).click();
          await page.getByRole('button', { name: 'Copy' }).waitFor();
          const link = new URL(await page.getByLabel('Link').inputValue()).pathname;
          expect(await violations(page), 'what axe finds beside the link').to.deep.equal([]);
          expect(await page.evaluate('document.documentElement.scrollWidth > innerWidth')).to.equal(false);
          await shoot(page, `${name}-invited`);
          const colleague = await open(link, options);
          expect(await violations(colleague), 'what axe finds in the invitation').to.deep.equal([]);
          await shoot(colleague, `${name}-invitation`);
          await colleague.getByLabel('Password').fill('correct horse battery');
          await colleague.keyboard.press('Enter');
          // The page of the invitation names the login, too.
          await colleague.waitForURL((url) => url.pathname !== link);
          await colleague.getByText(login, { exact: false }).first().waitFor();
          await look(
            colleague,
            name,
            preset === 'Support'
              ? [
                  ['support-overview', '/console/overview?days=30'],
                  ['support-delivery', `/console/deliveries/${failed}`],
                  ['support-person', '/console/person?address=ada%40example.com&within=all'],
                  ['support-unsubscribed', '/console/addresses?list=unsubscribed'],
                ]
              : [
                  ['editor-emails', '/console/emails'],
                  ['editor-email', '/console/emails/edit?type=confirmation'],
                  ['editor-versions', '/console/emails/versions?type=confirmation'],
                ],
          );
          await colleague.context().close();
        }
        await page.context().close();
      });
    }
  });
}

const LOGO =
  '<svg xmlns="http://www.w3.org/2000/svg" width="160" height="48"><rect width="48" height="48" rx="8" fill="#b3541e"/><script>document.title = "ran"</script></svg>';
const LONG_LIST = Array.from({ length: 12 }, (_, i) => `Somebody ${i} <somebody.${i}@customers.example.com>`);
const TROUBLES: readonly (readonly [state: string, code: string, subject: string | null])[] = [
  ['retrying', 'CARRIER_503', 'Your invoice of November'],
  ['paused', 'APIKEY_REFUSED', 'Welcome'],
  ['skipped', 'NO_VALID_RECIPIENT', null],
  ['unknown', 'OUTCOME_UNKNOWN', 'Your parcel is on its way'],
];

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { SECRET_FIELDS } from '../../src/api/console/carrierForms.js';
import { ConsoleBrowser } from '../api/consoleBrowser.js';
import { ROOT_LOGIN, ROOT_PASSWORD, WebFixture } from '../api/webFixture.js';

const VIEWS = new URL('../../src/api/console/views/', import.meta.url);
const SECRET = 'hunter2-of-the-carrier';
const FORMS = [
  ['/console/sending', { what: 'carrier', kind: 'smtp' }],
  ['/console/tenants', { name: 'new', root_login: 'root' }],
  ['/console/roles/edit', { login: 'new' }],
  ['/console/identity-providers/registration', { providerid: '1', client_id: 'app' }],
] as const;

/** A form that fails is shown again with what was written: for API keys and SMTP passwords, too, in hidden fields. */
describe('attack: a page of the console repeats a secret', () => {
  let fixture: WebFixture;
  let browser: ConsoleBrowser;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('shop');
    browser = new ConsoleBrowser(fixture);
    await browser.signIn(String(tenantid), ROOT_LOGIN, ROOT_PASSWORD);
  });
  after(() => fixture.stop());

  for (const [path, values] of FORMS) {
    for (const name of new Set(['secret', ...SECRET_FIELDS])) {
      it(`of the field ${name}, when ${path} is sent with another session's token`, async () => {
        const response = await browser.post(path, { ...values, csrf: 'x', [name]: SECRET });
        expect(response.status).to.equal(403);
        // Sent again without it, the form would say something else.
        expect(await response.text())
          .to.not.include(SECRET)
          .and.not.include('>Send it again<');
      });
    }
  }

  it('of any password field: their names are known', () => {
    const fields = readdirSync(VIEWS).flatMap((view) =>
      [...readFileSync(new URL(view, VIEWS), 'utf8').matchAll(/<input[^>]*type="password"[^>]*>/g)].map(
        ([input]) => /name="([^"]*)"/.exec(input)?.[1],
      ),
    );
    // Carriers' fields are declared, with their kind.
    expect(new Set(fields)).to.deep.equal(new Set(['secret', 'current_password', '{{ field.name }}']));
  });

  it('while what else was written is kept', async () => {
    const response = await browser.post('/console/addresses', { csrf: 'x', address: 'someone@example.com' });
    expect(await response.text())
      .to.include('value="someone@example.com"')
      .and.include('>Send it again<');
  });
});

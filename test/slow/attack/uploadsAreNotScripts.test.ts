import { expect } from 'chai';
import { openFileShop, type FileJson, type FileShop } from '../../files/fileShop.js';
import { HAS_CHROMIUM, openTab, startChromium } from '../../support/chromium.js';

const SCRIPT = 'document.title = "taken over"';

describe('attack: an uploaded file that is a script', () => {
  let shop: FileShop;
  let file: FileJson;
  before(async () => {
    shop = await openFileShop();
    await shop.store('script.js', SCRIPT);
    [file] = (await shop.files()) as [FileJson];
  });
  after(() => shop.close());

  for (const path of ['/query', '/roles_pbac', '/signin', '/mailbox', '/nowhere']) {
    it(`is blocked by the policy of ${path}`, async () => {
      const response = await shop.fixture.fetch(path, { headers: { accept: 'text/html' } });
      const policy = new Map(
        (response.headers.get('content-security-policy') ?? '').split(';').map((directive) => {
          const [name = '', ...sources] = directive.trim().split(/\s+/);
          return [name, sources];
        }),
      );
      expect(policy.get('default-src')).to.deep.equal(["'none'"]);
      const sources = ['script-src', 'script-src-elem', 'worker-src', 'child-src', 'object-src'].flatMap(
        (name) => policy.get(name) ?? [],
      );
      expect(sources.filter((source) => !source.startsWith("'nonce-") && source !== "'none'")).to.deep.equal(
        [],
      );
    });
  }

  it('is served sandboxed, as an attachment, with its declared type', async () => {
    const response = await fetch(file.url!);
    expect(response.headers.get('content-security-policy')).to.equal("sandbox; default-src 'none'");
    expect(response.headers.get('content-disposition')).to.match(/^attachment/);
    expect(response.headers.get('x-content-type-options')).to.equal('nosniff');
  });

  // A machine without Chromium still knows the policy.
  if (HAS_CHROMIUM) {
    it('is neither executed by the console nor applied as a style sheet', async () => {
      const browser = await startChromium();
      try {
        const page = await openTab(browser);
        await page.goto(`${shop.fixture.url}/query`);
        const address = new URL(file.url!).pathname;
        const loaded = await page.evaluate(
          `Promise.all([['script', 'src'], ['link', 'href']].map(([tag, attribute]) => new Promise((resolve) => {
             const element = Object.assign(document.createElement(tag), { rel: 'stylesheet' });
             element[attribute] = ${JSON.stringify(address)};
             element.onload = () => resolve(true);
             element.onerror = () => resolve(false);
             document.head.append(element);
           })))`,
        );
        expect(loaded).to.deep.equal([false, false]);
        expect(await page.title()).not.to.equal('taken over');
      } finally {
        await browser.close();
      }
    });
  }
});

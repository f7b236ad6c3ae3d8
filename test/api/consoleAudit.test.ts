import { expect } from 'chai';
import { LABELS } from '../../src/api/console/auditPage.js';
import { AUDITS } from '../../src/control/audit/auditedMutations.js';
import { OBJECTS } from '../../src/control/objects/index.js';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';

const AUDIT = '/console/audit';

describe('the console’s audit log', () => {
  let shop: ConsoleShop;
  let browser: ConsoleBrowser;

  before(async () => {
    shop = await ConsoleShop.open();
    browser = await shop.signedIn();
    const made = await shop.fixture.control(
      shop.root,
      `mutation { create_role_class(input: {name: "<b>staff</b>"}) { classid }
        create_role(input: {login: "<i>eve</i>", name: "<script>alert(1)</script>"}) { roleid } }`,
    );
    expect(made.errors).to.equal(undefined);
  });
  after(() => shop.close());

  it('says who changed what, from what to what', async () => {
    const page = await browser.page(`${AUDIT}?object=role`);
    expect(page).to.match(/created the role <a href="\/console\/audit\?object=role&amp;key=\d+">/);
    expect(page).to.include('<strong>name</strong> <ins>&lt;script&gt;alert(1)&lt;/script&gt;</ins>');
    expect(page).to.include('&lt;i&gt;eve').and.not.include('<i>eve').and.not.include('<script>alert');
    expect(page).to.not.include('created the class');
  });

  it('is searched by what, which one and who, with special characters as they are', async () => {
    expect(await browser.page(`${AUDIT}?object=role_class`))
      .to.include('created the class')
      .and.not.include('&lt;i&gt;eve');
    expect(await browser.page(`${AUDIT}?object=role_class&key=99`)).to.include(
      'Nothing matches this search.',
    );
    expect(await browser.page(`${AUDIT}?who=${encodeURIComponent("%' or true or '")}`)).to.include(
      'Nothing matches',
    );
    expect(await browser.page(`${AUDIT}?who=OO`)).to.include('created the role');
  });

  it('is paged', async () => {
    const names = Array.from(
      { length: 60 },
      (_, i) => `a${i}: create_role(input: {name: "n${i}"}) { roleid }`,
    );
    for (const some of [names.slice(0, 30), names.slice(30)]) {
      const made = await shop.fixture.control(shop.root, `mutation { ${some.join(' ')} }`);
      expect(made.errors).to.equal(undefined);
    }
    const first = await browser.page(`${AUDIT}?object=role&who=root`);
    expect(first).to.include('>n59<').and.not.include('>n5<');
    const next = /rel="next" href="([^"]+)"/.exec(first)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(await browser.page(next))
      .to.include('>n5<')
      .and.include('rel="prev"');
  });

  it('has words for everything that can be changed', () => {
    const objects = [
      ...OBJECTS.filter((object) => 'mayChange' in object).map(({ table }) => table),
      ...Object.values(AUDITS).flatMap((audit) => audit?.object ?? []),
    ];
    expect(objects.filter((name) => !LABELS.has(name))).to.deep.equal([]);
  });
});

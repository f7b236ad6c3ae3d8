import { expect } from 'chai';
import { PRESETS } from '../../src/control/roles/presets.js';
import { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at, PXADMIN_PASSWORD, type Json } from './webFixture.js';

const PASSWORD = 'correct horse battery';
/** Pages that look alike have the same links: of each kind a few are enough. */
const MAX_OF_KIND = 4;

describe('the console for people with a preset', () => {
  let shop: ConsoleShop;
  const people: Record<string, ConsoleBrowser> = {};

  before(async () => {
    shop = await ConsoleShop.open();
    const editors: number[] = [];
    for (const { name, capabilities } of PRESETS) {
      const made = await shop.fixture.control(
        shop.root,
        'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
        { input: { login: `the ${name}`, password: PASSWORD, capabilities } },
      );
      if (name === 'Editor') editors.push(Number(at(made, 'data.create_role.roleid')));
      people[name] = await shop.signedIn('shop', `the ${name}`, PASSWORD);
    }
    const order = await shop.changeOrder(7, 'new', 'paid');
    const to = { recipients: ['Ada <ada@example.com>'] };
    await shop.deliver(order, { state: 'failed', error_code: 'TEMPLATE_FAILED', ...to });
    await shop.deliver(order, { state: 'sent', ...to });
    const set = await shop.fixture.control(
      shop.root,
      `mutation ($roles: [Int]) {
        create_email_suppression(input: { address: "ada@example.com" }) { address }
        create_email_unsubscribe(input: { address: "ada@example.com", all_types: true }) { address }
        create_policy_rule(input: { name: "editors", capabilities: ["select"], targets: ["orders"], roles: $roles }) { ruleid }
        Utility { save_email_draft(email_type: "unsaved", input: { subject: "x" }) }
      }`,
      { roles: editors },
    );
    expect(set.errors).to.equal(undefined);
    const lead = {
      login: 'lead',
      password: PASSWORD,
      capabilities: ['login', 'view_delivery', 'create_role', 'update_role'],
    };
    const made = await shop.fixture.control(
      shop.root,
      'mutation ($input: roleInput) { create_role(input: $input) { roleid } }',
      { input: lead },
    );
    expect(made.errors).to.equal(undefined);
    people['lead'] = await shop.signedIn('shop', 'lead', PASSWORD);
    people['a role without a preset'] = await shop.signedIn('shop', 'clerk');
    people['root'] = await shop.signedIn();
    people['pxadmin'] = await shop.signedIn('0', 'pxadmin', PXADMIN_PASSWORD);
  });
  after(() => shop.close());

  /** Every page that links and forms of the console lead to, from its first page on, and the fields of every form that is sent. */
  async function walk(
    browser: ConsoleBrowser,
  ): Promise<{ readonly pages: ReadonlyMap<string, string>; readonly forms: ReadonlyMap<string, Form> }> {
    const pages = new Map<string, string>();
    const forms = new Map<string, Form>();
    const kinds = new Map<string, number>();
    const from = new Map([['/console/', '']]);
    const waiting = ['/console/'];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const kind =
        path.replace(/\?.*$/, '').replace(/\/\d+/g, '/:id') +
        [...path.matchAll(/[?&](\w+)=/g)].map(([, name]) => name).join();
      if (pages.has(path) || (kinds.get(kind) ?? 0) >= MAX_OF_KIND) continue;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      const response = await browser.get(path);
      const html = await response.text();
      const redirect = response.headers.get('location');
      expect(response.status, `${path}, on ${from.get(path)}`).to.be.oneOf(redirect === null ? [200] : [303]);
      pages.set(path, html);
      const links = [...html.matchAll(/(?:href|src)="(\/console[^"]*)"/g)].map(([, link = '']) =>
        link.replaceAll('&amp;', '&'),
      );
      for (const link of [...links, ...(redirect === null ? [] : [redirect])].map((each) =>
        each.replace(/#.*$/, ''),
      )) {
        if (!from.has(link)) from.set(link, path);
        waiting.push(link);
      }
      for (const [form = ''] of html.matchAll(/<form[^>]*method="post"[\s\S]*?<\/form>/g))
        formsIn(form, forms);
    }
    return { pages, forms };
  }

  for (const name of [
    ...PRESETS.map((preset) => preset.name),
    'root',
    'pxadmin',
    'lead',
    'a role without a preset',
  ]) {
    it(`offers ${name} no page and no button that is then denied`, async () => {
      const { pages, forms } = await walk(people[name]!);
      const shown = [
        ...new Set([...pages.keys()].map((path) => path.replace(/\?.*$/, '').replace(/\/\d+/g, '/:id'))),
      ];
      expect(shown).to.include('/console/account');
      if (name === 'Viewer') {
        expect(shown).to.include.members([
          '/console/overview',
          '/console/deliveries/:id',
          '/console/failures',
          '/console/person',
        ]);
        expect(shown).not.to.include.members(['/console/addresses']);
      }
      if (name === 'Support')
        expect(shown).to.include.members([
          '/console/deliveries/:id/redrive',
          '/console/deliveries/redrive',
          '/console/addresses',
          '/console/person',
        ]);
      if (name === 'Editor') {
        expect(shown).to.include.members([
          '/console/emails',
          '/console/emails/edit',
          '/console/emails/versions',
        ]);
        expect(
          shown.filter((path) => /deliver|overview|person|rules|roles|sending|new|starters/.test(path)),
        ).to.deep.equal([]);
      }
      // Of which each ends what the next test needs.
      const left = [...forms].filter(([key]) => !/sign-out|account +(end|others|all|password)$/.test(key));
      const actions = left.map(([key]) => key);
      if (name === 'Viewer' || name === 'a role without a preset')
        expect(actions.filter((action) => !/account|keys|selected +export$/.test(action))).to.deep.equal([]);
      const isOfInstallation = name === 'pxadmin';
      for (const [key, { action, values }] of left) {
        // Nothing is deleted, ended or suspended: others need it. Whoever may change it may do that too.
        if (/ (delete|end|all)$/.test(key) || isOfInstallation) continue;
        expect((await people[name]!.post(action, values)).status, key).to.be.oneOf([200, 303, 400, 409]);
      }
    });
  }

  it('lets a colleague in with one form and a link, and out of it again', async () => {
    const admin = people['Administrator']!;
    const csrf = await admin.csrf('/console/roles/invite');
    const given = { csrf, name: 'Zoe', login: 'zoe@example.com', preset: 'Support' };
    const response = await admin.post('/console/roles/invite', given);
    const html = await response.text();
    const link = /value="http[^"]*(\/console\/sign-in\/invitation\/[^"]+)"/.exec(html)?.[1] ?? '';
    expect(html).to.include('Zoe');
    const zoe = new ConsoleBrowser(shop.fixture);
    expect(await zoe.page(link)).to.include('zoe@example.com');
    const values = { invitation: link.slice(link.lastIndexOf('/') + 1), secret: PASSWORD };
    expect((await zoe.post('/console/sign-in/invitation/', values)).headers.get('location')).to.equal(
      '/console/',
    );
    expect((await zoe.get('/console/addresses')).status).to.equal(200);
    expect((await zoe.get('/console/rules')).status).to.equal(403);
    const role = /\/console\/roles\/edit\?id=\d+/.exec(html)![0];
    expect(await admin.page(role)).to.include('Make a link');
    const id = role.slice(role.indexOf('=') + 1);
    const again = await (await admin.post('/console/roles/invite', { csrf, id, action: 'make' })).text();
    const next = /value="http[^"]*(\/console\/sign-in\/invitation\/[^"]+)"/.exec(again)?.[1] ?? '';
    expect((await new ConsoleBrowser(shop.fixture).get(next)).status).to.equal(200);
    expect(await admin.page(role))
      .to.include('End it')
      .and.not.include(next);
    const ended = await admin.post('/console/roles/invite', { csrf, id, action: 'end' });
    expect(ended.headers.get('location')).to.equal(`${role}&done=ended`);
    expect((await new ConsoleBrowser(shop.fixture).get(next)).status).to.equal(404);
    // What is wrong is said beside what was written.
    for (const [wrong, text] of [
      [{ login: '' }, 'login'],
      [{ login: 'zoe@example.com' }, 'zoe@example.com'],
      [{ preset: 'Owner' }, 'Choose what your colleague may do.'],
    ] as const) {
      const refused = await admin.post('/console/roles/invite', { ...given, ...wrong });
      expect(refused.status).to.be.oneOf([400, 409]);
      expect(await refused.text())
        .to.include(text)
        .and.include('value="Zoe"');
    }
  });

  it('offers those who let colleagues in only what they hold themselves', async () => {
    const lead = people['lead']!;
    const html = await lead.page('/console/roles/invite');
    expect([...html.matchAll(/name="preset" value="(\w+)"/g)].map(([, name]) => name)).to.deep.equal([
      'Viewer',
    ]);
    const csrf = await lead.csrf('/console/roles/invite');
    for (const preset of ['Support', 'Editor', 'Administrator'])
      expect(
        (await lead.post('/console/roles/invite', { csrf, login: 'x', preset })).status,
        preset,
      ).to.equal(403);
    expect(
      (await lead.post('/console/roles/invite', { csrf, login: 'x', preset: 'Viewer' })).status,
    ).to.equal(200);
    for (const name of ['Viewer', 'Support', 'Editor'])
      expect((await people[name]!.get('/console/roles/invite')).status, name).to.equal(403);
  });

  it('lets Support lift a suppression of a person, and send again what failed', async () => {
    const browser = people['Support']!;
    await shop.fixture.control(
      shop.root,
      'mutation { create_email_suppression(input: { address: "eve@example.com", reason: "moved" }) { address } }',
    );
    expect(await browser.page('/console/person?address=eve@example.com')).to.include('moved');
    const csrf = await browser.csrf('/console/addresses?search=eve');
    const list = { csrf, list: 'suppressed', address: 'eve@example.com', action: 'remove' };
    expect((await browser.post('/console/addresses', list)).status).to.equal(303);
    expect(await browser.page('/console/person?address=eve@example.com')).to.include(
      'neither suppressed nor',
    );
    // Whom a person has decided to get no email from is not theirs to say.
    const left = { ...list, csrf, list: 'unsubscribed', address: 'ada@example.com' };
    expect(await (await browser.post('/console/addresses', left)).text()).to.include('root role and admins');
  });

  it('lets an Editor change the wording and nothing else, and go back to a version', async () => {
    const browser = people['Editor']!;
    const saved = async (): Promise<Json> =>
      at(
        await shop.fixture.control(
          shop.root,
          `{ email_types(filter: "email_type = 'confirmation'") { version subject template recipients sender queries { query } } }`,
        ),
        'data.email_types.0',
      ) as Json;
    const before = await saved();
    const edit = '/console/emails/edit?type=confirmation';
    const html = await browser.page(edit);
    const names = [...html.matchAll(/ name="(\w+)"/g)].map(([, name]) => name);
    expect(names).to.include.members(['subject', 'template', 'text', 'preheader', 'notes']);
    expect(names).not.to.include.members(['recipients']);
    expect(html)
      .to.include('ada@example.com')
      .and.not.match(/Send a test|Delete permanently|Run queries with/);
    const csrf = await browser.csrf(edit);
    const form = {
      csrf,
      saved: 'confirmation',
      version: String(before['version']),
      subject: 'Thanks for order {{ records.new.order_id }}',
      template: String(before['template']),
    };
    const smuggled = {
      email_type: 'stolen',
      recipients: 'eve@example.com',
      query_0_outvar: 'x',
      query_0_query: '{ orders { total } }',
    };
    const preview = await browser.post('/console/emails/preview', {
      ...form,
      ...smuggled,
      table: 'orders',
      action: 'preview',
    });
    expect(await preview.text())
      .to.include('Thanks for order 7')
      .and.not.include('eve@example.com');
    const response = await browser.post('/console/emails/edit', { ...form, ...smuggled, action: 'save' });
    expect(response.headers.get('location')).to.equal('/console/emails/edit?type=confirmation&done=saved');
    expect(await saved()).to.deep.equal({
      ...before,
      subject: form.subject,
      version: Number(before['version']) + 1,
    });
    const old = await browser.page(`${edit}&version=${String(before['version'])}`);
    expect(old).to.include(`value="${String(before['subject'])}"`);
    const back = {
      ...form,
      version: String(Number(before['version']) + 1),
      subject: String(before['subject']),
      action: 'save',
    };
    expect((await browser.post('/console/emails/edit', back)).status).to.equal(303);
    expect(await saved()).to.deep.equal({ ...before, version: Number(before['version']) + 2 });
    // Neither a new one, nor the draft of one that is not there.
    for (const path of [
      '/console/emails/edit',
      '/console/emails/new',
      '/console/emails/edit?copy=confirmation',
    ])
      expect((await browser.get(path)).status, path).to.equal(403);
    expect((await browser.get('/console/emails/edit?type=unsaved&version=0')).status).to.equal(404);
    expect(await browser.page('/console/emails')).not.to.include('type=unsaved');
    const draft = await browser.post('/console/emails/edit', {
      ...form,
      saved: '',
      email_type: 'unsaved',
      action: 'draft',
    });
    expect(draft.status).to.equal(404);
  });
});

interface Form {
  readonly action: string;
  readonly values: Record<string, string>;
}

const unescaped = (text: string): string =>
  text
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&');

/** What each button of a form sends, by where, about what, and which button. */
function formsIn(form: string, forms: Map<string, Form>): void {
  const attribute = (tag: string, name: string): string | undefined =>
    new RegExp(` ${name}="([^"]*)"`).exec(tag)?.[1];
  const inputs = [...form.matchAll(/<(?:input|textarea)[^>]*>(?:\n([^<]*)<\/textarea>)?/g)]
    .filter(([tag]) => !/type="(checkbox|radio)"/.test(tag) || tag.includes(' checked'))
    .map(([tag, text]) => [attribute(tag, 'name') ?? '', unescaped(text ?? attribute(tag, 'value') ?? '')]);
  for (const [button] of form.matchAll(/<button[^>]*>/g)) {
    const action = unescaped(attribute(button, 'formaction') ?? attribute(form, 'action') ?? '');
    const [name, value = ''] = [attribute(button, 'name'), attribute(button, 'value')];
    const values = {
      ...Object.fromEntries(inputs),
      ...(name === undefined ? {} : { [name]: value }),
    } as Form['values'];
    const where = action.replace(/\/\d+/, '/:id').replace(/\?.*/, '');
    forms.set(`${where} ${values['id'] ?? ''} ${value}`, { action, values });
  }
}

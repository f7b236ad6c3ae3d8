import { expect } from 'chai';
import type { ConsoleBrowser } from './consoleBrowser.js';
import { ConsoleShop } from './consoleShop.js';
import { at, textAt } from './webFixture.js';

const CLASSES = '/console/classes';
const EDIT = `${CLASSES}/edit`;
const PASSWORD = 'correct horse battery';

interface Saved {
  readonly classid: string;
  readonly [field: string]: unknown;
}

describe('the console’s classes', () => {
  let shop: ConsoleShop;
  let root: ConsoleBrowser;

  before(async () => {
    shop = await ConsoleShop.open();
    root = await shop.signedIn();
  });
  after(() => shop.close());

  const control = async (query: string, variables: object = {}): Promise<unknown> => {
    const response = await shop.fixture.control(shop.root, query, variables);
    expect(response.errors).to.equal(undefined);
    return response;
  };
  const savedAs = async (name: string): Promise<Saved | undefined> =>
    at(
      await control(
        'query ($filter: String) { role_class(filter: $filter) { classid inherit capabilities allow_signup members { login } } }',
        {
          filter: `name = '${name}'`,
        },
      ),
      'data.role_class.0',
    ) as Saved | undefined;
  const makeClass = async (input: object): Promise<string> =>
    textAt(
      await control('mutation ($input: role_classInput) { create_role_class(input: $input) { classid } }', {
        input,
      }),
      'data.create_role_class.classid',
    );
  const makeRole = async (
    login: string,
    capabilities: readonly string[],
    classes: readonly string[] = [],
  ): Promise<string> =>
    textAt(
      await control('mutation ($input: roleInput) { create_role(input: $input) { roleid } }', {
        input: { login, password: PASSWORD, capabilities, classes: classes.map(Number) },
      }),
      'data.create_role.roleid',
    );
  /** The account page has a form for everyone. */
  const post = async (browser: ConsoleBrowser, values: Readonly<Record<string, string>>): Promise<Response> =>
    browser.post(EDIT, { csrf: await browser.csrf('/console/account'), ...values });
  const shownBy = async (browser: ConsoleBrowser, path: string): Promise<string> =>
    (await browser.page(path)).replace(/\s+/g, ' ');

  it('are made, listed, changed and deleted, and their names are text', async () => {
    expect(await root.page('/console/roles')).to.include(`href="${CLASSES}"`);
    expect(await root.page(CLASSES)).to.include('There is no class yet.');
    const name = 'staff <script>alert(1)</script>" onclick="x';
    const made = await post(root, { name, inherit: 'full', may_view_delivery: 'on' });
    expect([made.status, made.headers.get('location')]).to.deep.equal([303, `${CLASSES}?done=saved`]);
    const { classid } = (await savedAs(name))!;
    const roleid = await makeRole('ada', ['login'], [classid]);
    await control(`mutation { update_role(roleid: ${roleid}, input: { name: "<b>Ada</b>" }) { roleid } }`);

    const list = await shownBy(root, `${CLASSES}?done=saved`);
    expect(list)
      .to.include('Saved.')
      .and.include('1 member, and all roles below them.')
      .and.include('<code>view_delivery</code>')
      .and.include('staff &lt;script&gt;')
      .and.not.include('<script>alert')
      .and.not.include('repair_delivery');
    const page = await shownBy(root, `${EDIT}?id=${classid}`);
    expect(page)
      .to.include(
        `<a href="/console/roles/edit?id=${roleid}">ada</a> <span class="quiet">&lt;b&gt;Ada&lt;/b&gt;</span>`,
      )
      .and.include('value="full" checked')
      .and.include('value="staff &lt;script&gt;alert(1)&lt;/script&gt;&#34; onclick=&#34;x"')
      .and.not.include('<script>alert');
    expect(page.match(/name="\w+" checked/g)).to.deep.equal(['name="may_view_delivery" checked']);

    const changed = await post(root, {
      id: classid,
      name: 'staff',
      inherit: 'creation',
      may_edit_email: 'on',
    });
    expect(changed.status, await changed.text()).to.equal(303);
    expect(await savedAs('staff')).to.deep.equal({
      classid,
      inherit: 'creation',
      capabilities: ['edit_email'],
      allow_signup: false,
      members: [{ login: 'ada' }],
    });
    expect(await shownBy(root, CLASSES)).to.include(
      '1 member; roles that are created below them start as members.',
    );

    expect((await post(root, { name: 'guests', inherit: 'none', allow_signup: 'on' })).status).to.equal(303);
    expect(await shownBy(root, CLASSES)).to.include('0 members. Anyone may join by signing up.');
    for (const each of [classid, (await savedAs('guests'))!.classid])
      expect((await post(root, { id: each, action: 'delete' })).headers.get('location')).to.equal(
        `${CLASSES}?done=deleted`,
      );
    expect(await root.page(CLASSES)).to.include('There is no class yet.');
    expect((await root.get(`${EDIT}?id=${classid}`)).status).to.equal(404);
    expect((await post(root, { id: classid, name: 'staff', inherit: 'none' })).status).to.equal(404);
  });

  it('say all that is wrong at once, in words of the form, and keep what was written', async () => {
    const wrong = await post(root, { name: ' ', inherit: 'full', may_edit_email: 'on', allow_signup: 'on' });
    const page = (await wrong.text()).replace(/\s+/g, ' ');
    expect(wrong.status).to.equal(400);
    expect(page)
      .to.include('<a href="#name">Name</a>: Give the class a name.')
      .and.include(
        '<a href="#allow_signup">Anyone may join it by signing up</a>: A class that anyone may join gives no',
      )
      .and.include('value="full" checked')
      .and.include('name="may_edit_email" checked')
      .and.include('name="allow_signup" checked');

    const classid = await makeClass({ name: 'taken' });
    const again = await post(root, { name: 'taken', inherit: 'none' });
    expect([
      again.status,
      (await again.text()).includes('There is already a class with this name.'),
    ]).to.deep.equal([409, true]);
    await control(
      `mutation { create_policy_rule(input: { name: "p", capabilities: ["select"], targets: ["orders"], classes: [${classid}] }) { ruleid } }`,
    );
    const used = await post(root, { id: classid, name: 'taken', inherit: 'none', action: 'delete' });
    expect([used.status, (await used.text()).includes('Policy rules refer to the class')]).to.deep.equal([
      409,
      true,
    ]);
    expect(await savedAs('taken')).to.include({ classid });
    const other = await post(root, { name: 'x', inherit: 'none', may_admin: 'on' });
    expect([other.status, await savedAs('x')]).to.deep.equal([400, undefined]);
  });

  it('show at most 100 members', async () => {
    const classid = await makeClass({ name: 'crowd' });
    for (let n = 0; n < 101; n++) {
      const input = { login: `crowd${n}`, capabilities: [], classes: [Number(classid)] };
      await control('mutation ($input: roleInput) { create_role(input: $input) { roleid } }', { input });
    }
    const page = await shownBy(root, `${EDIT}?id=${classid}`);
    expect(page).to.include('More than 100 members.');
    expect(page.match(/>crowd\d+</g)).to.have.length(100);
  });

  it('offer each role what it may do with a class, and refuse the rest', async () => {
    const own = await makeClass({ name: 'own', capabilities: ['view_delivery'] });
    const others = await makeClass({ name: 'others' });
    await makeRole('member', ['login'], [own]);
    await makeRole('keeper', ['login', 'view_class', 'create_class', 'update_class', 'delete_class'], [own]);
    const [member, keeper, other] = [
      await shop.signedIn('shop', 'member', PASSWORD),
      await shop.signedIn('shop', 'keeper', PASSWORD),
      await shop.signedIn('other'),
    ];
    const fieldsOf = (html: string): readonly string[] =>
      [
        ...new Set(
          [...html.matchAll(/ name="(\w+)"(?: value="(\w+)">)?/g)].map(([, name = '', value]) =>
            name === 'action' ? value! : name,
          ),
        ),
      ].filter((name) => !['csrf', 'id', 'viewport'].includes(name));

    // A member without rights sees its class and changes nothing.
    expect(await member.page('/console/roles')).not.to.include(CLASSES);
    const seen = await shownBy(member, CLASSES);
    expect(seen).to.include('>own<').and.not.include('>others<').and.not.include('New class');
    expect(seen).to.include('1 member that you may see.');
    const page = await member.page(`${EDIT}?id=${own}`);
    expect(page).to.include('<code>view_delivery</code>').and.include('<li>member</li>');
    expect(fieldsOf(page)).to.deep.equal([]);
    expect((await member.get(`${EDIT}?id=${others}`)).status).to.equal(404);
    expect((await member.get(EDIT)).status).to.equal(403);
    for (const values of [
      { name: 'x', inherit: 'none' },
      { id: own, name: 'x' },
      { id: own, action: 'delete' },
    ])
      expect((await post(member, values)).status, JSON.stringify(values)).to.equal(403);

    // One who may change classes changes only the name of one that it is not in, and opens none for sign-up.
    expect(await keeper.page('/console/roles')).to.include(`href="${CLASSES}"`);
    expect(fieldsOf(await keeper.page(EDIT))).to.deep.equal(['name', 'inherit', 'may_view_delivery', 'save']);
    expect(fieldsOf(await keeper.page(`${EDIT}?id=${own}`))).to.deep.equal([
      'name',
      'inherit',
      'may_view_delivery',
      'save',
      'delete',
    ]);
    expect(fieldsOf(await keeper.page(`${EDIT}?id=${others}`))).to.deep.equal(['name', 'save']);
    expect((await post(keeper, { name: 'made', inherit: 'none', may_edit_email: 'on' })).status).to.equal(
      403,
    );
    expect((await post(keeper, { name: 'made', inherit: 'none', may_view_delivery: 'on' })).status).to.equal(
      303,
    );
    const renamed = await post(keeper, {
      id: others,
      name: 'renamed',
      inherit: 'full',
      may_view_delivery: 'on',
      allow_signup: 'on',
    });
    expect(renamed.status).to.equal(303);
    expect(await savedAs('renamed')).to.deep.include({
      classid: others,
      inherit: 'none',
      capabilities: [],
      allow_signup: false,
    });
    expect((await post(keeper, { id: others, action: 'delete' })).status).to.equal(403);

    // Another tenant's.
    expect((await other.get(`${EDIT}?id=${own}`)).status).to.equal(404);
    expect((await post(other, { id: own, name: 'x', inherit: 'none' })).status).to.equal(404);
    expect((await post(other, { id: own, action: 'delete' })).status).to.equal(404);
    expect((await root.post(EDIT, { csrf: 'x', name: 'forged', inherit: 'none' })).status).to.equal(403);
    expect(await savedAs('own')).to.include({ classid: own });
    expect(await savedAs('forged')).to.equal(undefined);
  });

  it('are in the menu of everybody with a capability about classes, and of nobody else', async () => {
    const inMenu = async (capability: string): Promise<boolean> => {
      await makeRole(`menu ${capability}`, ['login', capability]);
      const page = await (
        await shop.signedIn('shop', `menu ${capability}`, PASSWORD)
      ).page('/console/account');
      return /<nav aria-label="Main">[^]*<a href="\/console\/classes">Classes<\/a>[^]*<\/nav>/.test(page);
    };
    const capabilities = at(await control('{ capability { capability } }'), 'data.capability') as {
      capability: string;
    }[];
    for (const { capability } of capabilities.filter((each) => each.capability !== 'admin'))
      expect(await inMenu(capability), capability).to.equal(capability.endsWith('_class'));
    const page = await (await shop.signedIn('shop', 'menu view_class', PASSWORD)).page(CLASSES);
    expect(page).to.include('<a href="/console/classes" aria-current="page">Classes</a>');
  });

  it('are made by those who may not see them', async () => {
    await makeRole('blind', ['login', 'create_class']);
    const blind = await shop.signedIn('shop', 'blind', PASSWORD);
    expect((await post(blind, { name: 'unseen', inherit: 'none' })).status).to.equal(303);
    expect(await savedAs('unseen')).to.include({ inherit: 'none' });
  });
});

import { expect } from 'chai';
import { compileTemplate, createTemplatePool, TemplateError } from 'rowpost-jinja2';
import { at } from '../../api/webFixture.js';
import { ORDER, Shop, TABLES } from '../../control/emailShop.js';
import { findChanges, takeSnapshot } from '../../../packages/jinja2/test/canary.js';

/** What a row with a numeric column gives a template. */
const CONTEXT = '{"records":{"new":{"id":7,"total":12.50E0,"name":"Ada"}}}';

const REACH = '{% set x = namespace(a=1) %}{{ records.new.total.__proto__';
const LINK = `<a href="https://evil.example">confirm</a>`;

/** Each changes what every other template reads, if a Decimal hands out JavaScript's prototype of all objects. */
const HOSTILE: Readonly<Record<string, string>> = {
  'adds a name that all contexts have': `${REACH}.update({'gift_note': '${LINK}'|safe, 'alt': 'Call us'}) }}`,
  'takes hasOwnProperty away': `${REACH}.pop('hasOwnProperty') }}`,
  'turns descriptors into accessors': `${REACH}.update({'get': 'x'}) }}`,
  'empties it': `${REACH}.clear() }}`,
  'takes its last property': `${REACH}.popitem() }}`,
  'sets a default': `${REACH}.setdefault('gift_note', '${LINK}'|safe) }}`,
  'reaches it by a filter': `{{ (records.new.total|attr('__proto__')).update({'gift_note': 'x'}) }}`,
  'reaches it by an item': `{{ records.new.total['__proto__'].update({'gift_note': 'x'}) }}`,
  'reaches it by map': `{{ ([records.new.total]|map(attribute='__proto__')|first).update({'gift_note': 'x'}) }}`,
  'reaches it in a format string': `{{ '{0.__proto__.gift_note}'.format(records.new.total) }}`,
  'calls its constructor': `{{ records.new.total.constructor('return 1')() }}`,
};

const VICTIM =
  '{% if gift_note %}{{ gift_note }}{% endif %}Total {{ records.new.total }} for {{ records.new.name }}';

/** The texts of a tenant's Liquid template: the engine keeps the names of its cycles for the time of a render. */
const LIQUID_VICTIM = `{% cycle 'discount code WINTER-42', 'b' %}`;

/** Descriptors that inherit nothing, so that they can restore what a hostile template changed. */
const ORIGINALS = Object.entries(Object.getOwnPropertyDescriptors(Object.prototype)).map(
  ([name, descriptor]) => [name, Object.assign(Object.create(null) as object, descriptor)] as const,
);

interface Aftermath {
  readonly outcome: unknown;
  readonly changes: readonly string[];
}

/** Renders, lists what that changed, and undoes it: mocha itself could not go on. */
function aftermathOf(render: () => string): Aftermath {
  const before = takeSnapshot();
  let outcome: unknown;
  try {
    outcome = render();
  } catch (error) {
    outcome = error;
  }
  const changes = findChanges(before);
  for (const key of Reflect.ownKeys(Object.prototype)) Reflect.deleteProperty(Object.prototype, key);
  for (const [name, descriptor] of ORIGINALS) Reflect.defineProperty(Object.prototype, name, descriptor);
  return { outcome, changes };
}

describe('attack: a template changes what the templates of other tenants see', () => {
  for (const [title, source] of Object.entries(HOSTILE)) {
    it(title, () => {
      const { outcome, changes } = aftermathOf(() =>
        compileTemplate(source, { mode: 'html' }).renderJson(CONTEXT),
      );
      expect(changes).to.deep.equal([]);
      expect(outcome).to.be.instanceOf(TemplateError);
    });
  }

  it('reads the source of the Liquid template of another tenant', () => {
    const plant = `{{ records.new.total.__proto__.update({'cycle': records.new}) }}`;
    const { outcome } = aftermathOf(() => {
      try {
        compileTemplate(plant).renderJson(CONTEXT);
      } catch {
        // The plant may fail; what counts is what it left.
      }
      compileTemplate(LIQUID_VICTIM, { syntax: 'liquid' }).renderJson('{}');
      return compileTemplate('{{ records.new.total.__proto__.cycle }}').renderJson(CONTEXT);
    });
    expect(String(outcome)).not.to.include('WINTER-42');
  });

  it('changes the objects of the Liquid engine through its loop variable', () => {
    const source =
      '{% for i in (1..2) %}{{ forloop.__proto__.next }}{{ forloop.next }}{{ forloop.constructor }}{% endfor %}';
    const { outcome, changes } = aftermathOf(() =>
      compileTemplate(source, { syntax: 'liquid' }).renderJson('{}'),
    );
    expect(changes).to.deep.equal([]);
    expect(outcome).to.equal('');
  });

  it('changes them for the jobs that its process runs after it', async () => {
    const pool = createTemplatePool({ processes: 1 });
    try {
      const run = async (source: string) => {
        const template = { name: 'html', source, syntax: 'jinja2', mode: 'html' } as const;
        const [outcome] = await pool.render({ contextJson: CONTEXT, templates: [template] });
        return outcome;
      };
      expect(await run(VICTIM)).to.deep.include({ ok: true, output: 'Total 12.50 for Ada' });
      for (const source of Object.values(HOSTILE)) expect(await run(source)).to.deep.include({ ok: false });
      expect(await run(VICTIM)).to.deep.include({ ok: true, output: 'Total 12.50 for Ada' });
    } finally {
      await pool.close();
    }
  });
});

describe('attack: a preview changes the emails of another tenant', () => {
  let shop: Shop;
  before(async () => {
    shop = await Shop.open();
  });
  after(() => shop.close());

  it('fails, and changes nothing', async () => {
    const { fixture } = shop;
    const type = await shop.createPlainType({ template: HOSTILE['adds a name that all contexts have'] });
    const previewed = await shop.previewed({ type, ...ORDER });
    expect(previewed['error']).to.deep.include({ code: 'TEMPLATE_FAILED', field: 'template' });
    const victim = await fixture.createTenant('victim', TABLES);
    const theirs = (await fixture.signIn(victim.tenantid)).access_token;
    await fixture.control(theirs, 'mutation { set_email_apikey(apikey: "SG.theirs") { apikey } }');
    const input = {
      email_type: 'greeting',
      subject: 'Greeting',
      sender: 'v@example.com',
      recipients: ['r@example.com'],
      template: `<p>Hello{{ ''.upper() }}{% if gift_note %}{{ gift_note }}{% endif %}</p>`,
    };
    const created = await fixture.control(
      theirs,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      { input },
    );
    expect(created.errors).to.equal(undefined);
    const shown = await shop.preview({ type: 'greeting', ...ORDER }, theirs);
    expect(at(shown, 'data.Utility.preview_email')).to.deep.include({ html: '<p>Hello</p>', error: null });
  });
});

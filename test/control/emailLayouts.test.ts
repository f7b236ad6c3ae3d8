import { expect } from 'chai';
import { codeOf, at, type GraphqlResult, type Json } from '../api/webFixture.js';
import { Shop } from './emailShop.js';

const PREVIEW = `query ($type: ID, $input: email_typesInput) { Utility {
  preview_email(email_type: $type, input: $input, context: {records: {new: {id: 7, name: "<Ada>", layout: "base"}}}) {
    html subject error { code field message line column } } } }`;

describe('roles_pbac: layouts of emails', () => {
  let shop: Shop;
  let layouts = 0;
  before(async () => {
    shop = await Shop.open();
  });
  after(() => shop.close());

  const ask = (document: string, variables: Json = {}): Promise<GraphqlResult> =>
    shop.fixture.control(shop.root, document, variables);
  const save = (name: string, template: string): Promise<GraphqlResult> =>
    ask('mutation ($i: email_layoutsInput) { create_email_layout(input: $i) { name template } }', {
      i: { name, template },
    });
  const change = (name: string, input: Json): Promise<GraphqlResult> =>
    ask('mutation ($n: ID!, $i: email_layoutsInput) { update_email_layout(name: $n, input: $i) { name } }', {
      n: name,
      i: input,
    });
  const remove = (name: string): Promise<GraphqlResult> =>
    ask('mutation ($n: ID!) { delete_email_layout(name: $n) { name } }', { n: name });
  const layout = async (template: string): Promise<string> => {
    const name = `layout_${++layouts}`;
    expect((await save(name, template)).errors).to.equal(undefined);
    return name;
  };
  const preview = async (type: string): Promise<Json> =>
    at(await ask(PREVIEW, { type }), 'data.Utility.preview_email') as Json;
  const typeOf = (template: string, changes: Json = {}): Promise<string> =>
    shop.createPlainType({ template, ...changes });
  const draft = (template: string): Promise<GraphqlResult> =>
    ask(PREVIEW, {
      input: { template, subject: 'S', sender: 'a@example.com', recipients: ['b@example.com'] },
    });
  const errorOf = (result: GraphqlResult): Json => ({
    message: result.errors?.[0]?.message,
    ...result.errors?.[0]?.extensions,
  });

  it('are shared by email types, with blocks, includes and macros', async () => {
    const parts = await layout('{% macro link(to) %}<a href="{{ to }}">{% endmacro %}');
    const foot = await layout('<i>{{ records.new.name }}</i>');
    const base = await layout(`<h1>{% block title %}Shop{% endblock %}</h1>{% include "${foot}" %}`);
    const type = await typeOf(
      `{% extends "${base}" %}{% from "${parts}" import link %}{% block title %}{{ super() }} {{ link("x&y") }}{% endblock %}`,
      { subject: `{% include "${foot}" %}` },
    );
    expect(await preview(type)).to.deep.equal({
      html: '<h1>Shop <a href="x&amp;y"></h1><i>&lt;Ada&gt;</i>',
      subject: '<i><Ada></i>',
      error: null,
    });
  });

  it('apply to drafts, test emails and every field', async () => {
    const base = await layout('[{% block b %}{% endblock %}]');
    const drawn = await draft(`{% extends "${base}" %}{% block b %}{{ records.new.id }}{% endblock %}`);
    expect(at(drawn, 'data.Utility.preview_email.html')).to.equal('[7]');
    const missing = await draft('a\n {% include "nowhere" %}');
    expect(at(missing, 'data.Utility.preview_email.error')).to.include({
      code: 'TEMPLATE_SYNTAX',
      field: 'template',
      line: 2,
      column: 5,
    });
    const type = await typeOf(`{% extends "${base}" %}{% block b %}sent{% endblock %}`);
    const sent = await ask(
      `mutation ($type: ID!) { Utility { send_test_email(email_type: $type, context: {records: {}}, to: "me@example.com") {
        sent error { message } } } }`,
      { type },
    );
    expect(at(sent, 'data.Utility.send_test_email')).to.deep.equal({ sent: true, error: null });
  });

  it('change every type that uses them, directly or indirectly', async () => {
    const foot = await layout('foot 1');
    const base = await layout(`{% block b %}{% endblock %} {% include "${foot}" %}`);
    const type = await typeOf(`{% extends "${base}" %}{% block b %}B{% endblock %}`);
    expect((await preview(type))['html']).to.equal('B foot 1');
    expect((await change(foot, { template: 'foot 2' })).errors).to.equal(undefined);
    expect((await preview(type))['html']).to.equal('B foot 2');
  });

  it('bump the version of each such type, which workers notice', async () => {
    const base = await layout('{% block b %}{% endblock %}');
    const used = await typeOf(`{% extends "${base}" %}`);
    const dynamic = await typeOf('{% include [records.new.layout] ignore missing %}');
    const unused = await typeOf('x');
    const versions = async (): Promise<readonly unknown[]> => {
      const { rows } = await shop.fixture.testDatabase.database.pool.query<{ version: string }>(
        `select xmin::text as version from rowpost.email_types where email_type = any ($1)
         order by array_position($1, email_type)`,
        [[used, dynamic, unused]],
      );
      return rows.map(({ version }) => version);
    };
    const before = await versions();
    await change(base, { template: 'new {% block b %}{% endblock %}' });
    const after = await versions();
    expect(after.map((version, index) => version !== before[index])).to.deep.equal([true, true, false]);
    expect((await save('base', 'made later')).errors).to.equal(undefined);
    expect((await preview(dynamic))['html']).to.equal('made later');
    expect((await remove('base')).errors).to.equal(undefined);
    expect((await preview(dynamic))['html']).to.equal('');
    const last = await versions();
    expect(last[1]).not.to.equal(after[1]);
  });

  it("can't be changed in a way that breaks a type or another layout", async () => {
    const base = await layout(
      '{% set brand = "x" %}{% macro box() %}{% endmacro %}{% block b %}{% endblock %}',
    );
    const type = await typeOf(`line 1\n{% from "${base}" import box, brand %}{% include "${base}" %}`);
    const gone = errorOf(await change(base, { template: '{% set brand = "x" %}' }));
    expect(gone).to.deep.include({ code: 'TEMPLATE_SYNTAX', email_type: type, field: 'template', line: 2 });
    expect(gone['message']).to.contain(`email type "${type}": template, line 2, column 4:`);
    expect(gone['message']).to.contain("does not export the requested name 'box'");
    const extending = await typeOf(`{% extends "${base}" %}`);
    const required = errorOf(
      await change(base, {
        template: '{% set brand = "x" %}{% macro box() %}{% endmacro %}{% block b required %}{% endblock %}',
      }),
    );
    expect(required).to.deep.include({ code: 'TEMPLATE_SYNTAX', email_type: extending, line: 1, column: 4 });
    const child = await layout(`{% extends "${base}" %}`);
    const circle = errorOf(await change(base, { template: `{% extends "${child}" %}` }));
    expect(circle['message']).to.contain('extends itself');
    expect((await preview(type))['html']).to.equal('line 1\n');
  });

  it('report their own errors, and those of the layouts they load', async () => {
    expect(errorOf(await save('broken', 'a\n{% if %}'))).to.deep.include({
      code: 'TEMPLATE_SYNTAX',
      field: 'template',
      line: 2,
      column: 7,
    });
    expect(codeOf(await save('circle', '{% extends "circle" %}'))).to.equal('TEMPLATE_SYNTAX');
    expect(codeOf(await save('a/b', 'x'))).to.equal('BAD_USER_INPUT');
    expect(codeOf(await save('', 'x'))).to.equal('BAD_USER_INPUT');
    const base = await layout('x\n{{ 1 // records.new.none }}');
    const type = await typeOf(`{% include "${base}" %}`);
    const { error } = (await preview(type)) as { error: Json };
    expect(error).to.include({ code: 'TEMPLATE_FAILED', field: 'template', line: 2 });
    expect(error['message']).to.contain(`template, layout "${base}", line 2`);
  });

  it("can't be deleted or renamed while types or layouts name them", async () => {
    const foot = await layout('foot');
    const base = await layout(`{% include "${foot}" ignore missing %}`);
    const type = await typeOf(`{% include ["${base}", "other"] %}`);
    const refused = errorOf(await remove(base));
    expect(refused).to.deep.include({ code: 'EMAIL_LAYOUT_IN_USE', used_by: type });
    expect(codeOf(await remove(foot))).to.equal('EMAIL_LAYOUT_IN_USE');
    expect(codeOf(await change(foot, { name: 'renamed' }))).to.equal('EMAIL_LAYOUT_IN_USE');
    await ask(
      'mutation ($t: ID!, $i: email_typesInput) { update_email_type(email_type: $t, input: $i) { email_type } }',
      {
        t: type,
        i: { template: 'without' },
      },
    );
    expect((await remove(base)).errors).to.equal(undefined);
    expect((await remove(foot)).errors).to.equal(undefined);
  });

  it('belong to one tenant: nobody else sees, uses or changes them', async () => {
    const name = await layout('secret of the shop');
    const other = await shop.fixture.createTenant('other', 'create table t (id int primary key)');
    const token = (await shop.fixture.signIn(other.tenantid)).access_token;
    const asOther = (document: string, variables: Json = {}): Promise<GraphqlResult> =>
      shop.fixture.control(token, document, variables);
    await asOther('mutation { set_email_apikey(apikey: "SG.other") { apikey } }');
    expect(at(await asOther('{ email_layouts { name } }'), 'data.email_layouts')).to.deep.equal([]);
    expect(
      codeOf(await asOther('mutation ($n: ID!) { delete_email_layout(name: $n) { name } }', { n: name })),
    ).to.equal('NOT_FOUND');
    for (const template of [`{% include "${name}" %}`, `{% extends "${name}" %}`]) {
      const result = await asOther(PREVIEW, {
        input: { template, subject: 'S', sender: 'a@example.com', recipients: ['b@example.com'] },
      });
      expect(at(result, 'data.Utility.preview_email.error.code')).to.equal('TEMPLATE_SYNTAX');
    }
    const clerk = await shop.fixture.control(shop.clerk.token, '{ email_layouts { name } }');
    expect(codeOf(clerk)).to.equal('PERMISSION_DENIED');
  });
});

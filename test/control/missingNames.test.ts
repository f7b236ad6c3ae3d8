import { expect } from 'chai';
import { at, WebFixture } from '../api/webFixture.js';

interface Warning {
  readonly field: string;
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly hint: string | null;
}

describe('undefined names in an email type', () => {
  let fixture: WebFixture;
  let token: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant(
      'inn',
      `create table guest (guest_id int primary key, name text, email text);
       create table stay (stay_id int primary key, guest_id int references guest, nights int);
       insert into guest values (1, 'Ada', 'ada@example.com');`,
    );
    const { access_token, roleid: root } = await fixture.signIn(tenantid);
    token = access_token;
    await fixture.control(token, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    await save('letter', {});
    const rule = await fixture.control(
      token,
      'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }',
      {
        input: {
          name: 'all',
          operations: ['insert'],
          targets: ['guest'],
          email_type: 'letter',
          query_roleid: root,
        },
      },
    );
    expect(rule.errors).to.equal(undefined);
  });
  after(() => fixture.stop());

  const LETTER = { template: 'x', subject: 'x', recipients: ['a@example.com'], sender: 'b@example.com' };
  async function save(email_type: string, changes: object): Promise<void> {
    const { errors } = await fixture.control(
      token,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      { input: { email_type, ...LETTER, ...changes } },
    );
    expect(errors).to.equal(undefined);
  }
  async function check(input: object): Promise<readonly string[]> {
    const response = await fixture.control(
      token,
      `query ($input: email_typesInput) {
        Utility { check_email(email_type: "letter", input: $input) { field line column message hint } }
      }`,
      { input },
    );
    expect(response.errors).to.equal(undefined);
    const found = at(response, 'data.Utility.check_email') as readonly Warning[];
    return found.map(({ field, line, column, message, hint }) =>
      [`${field} ${line}:${column}`, message, hint].filter(Boolean).join(' | '),
    );
  }

  it("are columns missing from a rule's table, with location and suggestion", async () => {
    expect(
      await check({ template: '<p>\n  Dear {{ records.new.gust_id }} {{ records.new.name }}' }),
    ).to.deep.equal(['template 2:22 | the table guest has no "gust_id" | Did you mean "guest_id"?']);
    expect(await check({ subject: "{{ records['old'].nam }}" })).to.deep.equal([
      'subject 1:18 | the table guest has no "nam" | Did you mean "name"?',
    ]);
    expect(await check({ subject: '{{ recods.new.name }}' })).to.have.length(1);
  });

  it('are values that a method hides', async () => {
    const queries = [{ query: '{ stay { items: nights guest { name } } }', outvar: 'stays' }];
    expect(await check({ queries, template: '{% for s in stays %}{{ s.items }}{% endfor %}' })).to.deep.equal(
      [`template 1:25 | "items" is a method, which hides the value of that name | Write stays[0]['items'].`],
    );
    const calls = "{{ stays[0]['items'] }} {% for k, v in records.new.items() %}{{ k }}{% endfor %}";
    expect(await check({ queries, template: calls })).to.deep.equal([]);
  });

  it('come with the file of changes that are no uploads', async () => {
    expect(await check({ attachments: ['file'] })).to.deep.equal([
      'attachments[0] null:null | "file" attaches nothing to emails about insert | Let a rule for upload send it, or query files (thefiles { storagekey }) and attach the outvar.',
    ]);
    const preview = await fixture.control(
      token,
      `{ Utility { preview_email(email_type: "letter", input: { attachments: ["file"] }, target: "guest", key: 1) {
        warnings { code } error { code } } } }`,
    );
    expect(at(preview, 'data.Utility.preview_email')).to.deep.equal({
      warnings: [{ code: 'ATTACHMENT_NONE' }],
      error: null,
    });
  });

  it('come with filters that no query takes', async () => {
    const query = 'query ($filter: String) { guest(filter: $filter) { name } }';
    const filter = 'guest_id = {{ records.new.guest_id }}';
    expect(await check({ queries: [{ query, filter, outvar: 'guests' }] })).to.deep.equal([]);
    const [unused, ...others] = await check({
      queries: [{ query: '{ guest { name } }', filter, outvar: 'guests' }],
    });
    expect(unused).to.match(/^queries\[0\]\.filter .*the filter of the query guests has no effect/);
    expect(others).to.deep.equal([]);
  });

  it('are fields that a query does not select, through loops, assignments and filters', async () => {
    const queries = [{ query: '{ stay { nights guest { name } } }', outvar: 'stays' }];
    const warned = async (template: string): Promise<readonly string[]> =>
      (await check({ queries, template })).map((text) => text.split(' | ')[1] ?? '');
    expect(await warned('{% for s in stays %}{{ s.nights }} {{ s.night }}{% endfor %}')).to.deep.equal([
      'the query stays has no "night"',
    ]);
    expect(
      await warned('{% set s = stays | sort | first %}{{ s.guest.name }} {{ s.guest.email }}'),
    ).to.deep.equal(['the query stays, guest, has no "email"']);
    expect(await warned('{{ stays[0].nigths }}')).to.have.length(1);
    expect(await warned('{{ stay }}')).to.deep.equal(['the context of templates has no "stay"']);
  });

  it('are fields of a list instead of its rows, and names of the row without `records`', async () => {
    const queries = [
      { query: '{ stay { nights guest { name stay_collection { nights } } } }', outvar: 'stays' },
      {
        query:
          '{ guest { name } more: stay { nights } Aggregates { count(subquery: "{ stay { stay_id } }") } }',
        outvar: 'all',
      },
    ];
    const hints = async (template: string): Promise<readonly string[]> =>
      (await check({ queries, template })).map((text) => text.replace(/^template \d+:\d+ \| /, ''));
    expect(await hints('{{ stays.nights }}')).to.deep.equal([
      'the query stays is a list, which has no "nights" | Write stays[0].nights for its first row, or loop over stays.',
    ]);
    expect(await hints('{{ stays.guest.name }}')).to.have.length(1);
    expect(await hints('{{ stays[0].guest.stay_collection.nights }}')).to.deep.equal([
      'the query stays, guest, stay_collection, is a list, which has no "nights" | Write stays[0].guest.stay_collection[0].nights for its first row, or loop over stays[0].guest.stay_collection.',
    ]);
    expect(await hints('{{ all.more.nights }}')).to.have.length(1);
    expect(
      await hints(
        `{{ stays[0].guest.name }}{{ (stays | last).nights }}{{ stays | map(attribute='nights') | sum }}{% for s in stays if s.nights %}
        {% for t in s.guest.stay_collection %}{{ t.nights }}{% endfor %}{% endfor %}{{ all.guest[0].name }}{{ all.Aggregates.count }}`,
      ),
    ).to.deep.equal([]);
    expect(await hints('{{ new.name }}')).to.deep.equal([
      'the context of templates has no "new" | Write records.new.',
    ]);
    expect(await hints('{{ email }}')).to.deep.equal([
      'the context of templates has no "email" | Write records.new.email.',
    ]);
    expect(await hints('{{ unsubscribe_url }}')).to.deep.equal([
      'the context of templates has no "unsubscribe_url" | Set unsubscribe of the email to type or all.',
    ]);
  });

  it('exclude names a template defines, tests for, or may find at run time', async () => {
    const template = `{% macro m(a) %}{{ a.b }}{{ varargs }}{% endmacro %}{{ m(records.new) }}
      {% for x in range(3) %}{{ loop.index }}{% if x %}{% set y = 1 %}{% endif %}{% endfor %}
      {{ records.new.gust | default('none') }}{% if records.new.gust is defined %}yes{% endif %}
      {{ records.new.name.upper() }}{{ records.new.items }}{% with z = records.new.name %}{{ z.anything }}{% endwith %}
      {{ operation }}{{ target }}{{ now }}{{ base_url }}{{ file.url }}`;
    expect(await check({ template })).to.deep.equal([
      'template 4:51 | the table guest has no "items" | There are guest_id, name, email.',
    ]);
  });

  it('are warnings of a preview, naming its table', async () => {
    const response = await fixture.control(
      token,
      `query ($input: email_typesInput) { Utility {
        preview_email(input: $input, target: "guest", key: 1) { subject warnings { message } } } }`,
      { input: { ...LETTER, subject: 'Hello {{ records.new.gust }}!' } },
    );
    expect(at(response, 'data.Utility.preview_email')).to.deep.equal({
      subject: 'Hello !',
      warnings: [{ message: 'the table guest has no "gust"' }],
    });
  });

  for (const syntax of ['jinja2', 'liquid']) {
    it(`fail a strict email, except where tested for: ${syntax}`, async () => {
      const asked =
        syntax === 'jinja2'
          ? "{{ records.new.gust | default('none') }}"
          : "{{ records.new.gust | default: 'none' }}";
      const preview = async (subject: string, template = 'x'): Promise<unknown> => {
        const input = { ...LETTER, syntax, undefined: 'strict', subject, template };
        const response = await fixture.control(
          token,
          `query ($input: email_typesInput) { Utility {
            preview_email(input: $input, target: "guest", key: 1) { subject error { code field line } } } }`,
          { input },
        );
        return at(response, 'data.Utility.preview_email');
      };
      const failed = (field: string) => ({
        subject: null,
        error: { code: 'TEMPLATE_FAILED', field, line: 1 },
      });
      expect(await preview('Hello {{ records.new.gust }}!')).to.deep.equal(failed('subject'));
      expect(await preview('x', '{% for x in gusts %}{{ x }}{% endfor %}')).to.deep.equal(failed('template'));
      expect(await preview(`Hello ${asked} {{ records.new.name }}`)).to.deep.equal({
        subject: 'Hello none Ada',
        error: null,
      });
    });
  }
});

import { expect } from 'chai';
import { WORDING } from '../../src/control/email/wording.js';
import type { Column } from '../../src/control/derive/declaration.js';
import { emailTypes } from '../../src/control/objects/emailTypes.js';
import { PRESETS } from '../../src/control/roles/presets.js';
import { ConsoleShop } from '../api/consoleShop.js';
import { at, codeOf, textAt, type GraphqlResult, type Json } from '../api/webFixture.js';

const SECRET = 'a secret of the tenant';
const DENIED = 'PERMISSION_DENIED';
const QUERIES = [{ query: '{ vault { word } }', outvar: 'words' }];

describe('attack: people with a preset who want more than it gives', () => {
  let shop: ConsoleShop;
  const people: Record<string, { roleid: number; token: string }> = {};
  let delivery: string;
  let cause: string;

  const as = (preset: string, document: string, variables?: Json): Promise<GraphqlResult> =>
    shop.fixture.control(people[preset]!.token, document, variables);
  const byRoot = async (document: string, variables?: Json): Promise<unknown> => {
    const { data, errors } = await shop.fixture.control(shop.root, document, variables);
    expect(errors).to.equal(undefined);
    return data;
  };

  before(async () => {
    shop = await ConsoleShop.open();
    await shop.sql(`create table vault (id int primary key, word text);
      insert into vault values (1, 'open'), (2, '${SECRET}');`);
    await byRoot('{ Utility { introspect } }');
    await shop.changeOrder(7, 'new', 'paid');
    cause = await shop.changeOrder(7, 'new', 'paid');
    delivery = await shop.deliver(cause, { state: 'failed', error_code: 'TEMPLATE_FAILED' });
    for (const { name, capabilities } of PRESETS)
      people[name] = await shop.fixture.createMember(shop.root, `the ${name}`, capabilities);
    await byRoot(
      `mutation ($roles: [Int], $type: email_typesInput) {
        create_policy_rule(input: { name: "open words", capabilities: ["select"], targets: ["vault"], roles: $roles, filter: "id = 1" }) { ruleid }
        create_email_type(input: $type) { email_type } }`,
      {
        roles: [people['Editor']!.roleid],
        type: {
          email_type: 'words',
          template: '{{ words | tojson }}',
          subject: '{{ records.new.word }}',
          recipients: ['ada@example.com'],
          sender: 'shop@example.com',
          queries: QUERIES,
        },
      },
    );
  });
  after(() => shop.close());

  const holding = async (preset: string): Promise<unknown> => {
    const { roleid } = people[preset]!;
    return byRoot(
      `{ role(filter: "roleid = ${roleid}") { capabilities classes { classid } parent { roleid } } }`,
    );
  };

  it('become no administrators', async () => {
    for (const preset of ['Viewer', 'Support', 'Editor']) {
      const { roleid } = people[preset]!;
      const before = await holding(preset);
      for (const mutation of [
        `update_role(roleid: ${roleid}, input: { capabilities: ["login", "admin"] }) { roleid }`,
        `update_role(roleid: ${roleid}, input: { capabilities: ["view_delivery", "repair_delivery", "edit_email"] }) { roleid }`,
        `update_role(roleid: ${roleid}, input: { parentid: 1 }) { roleid }`,
        `update_role(roleid: ${roleid}, input: { classes: [1] }) { roleid }`,
        'create_role(input: { login: "friend", capabilities: ["admin"] }) { roleid }',
        'create_role_class(input: { name: "friends", capabilities: ["edit_email"] }) { classid }',
        'create_policy_rule(input: { name: "all", capabilities: ["select"], targets: ["vault"] }) { ruleid }',
        `create_email_rule(input: { operations: ["insert"], targets: ["vault"], email_type: "words", query_roleid: ${roleid}, name: "r" }) { ruleid }`,
      ])
        expect(codeOf(await as(preset, `mutation { ${mutation} }`)), `${preset}: ${mutation}`).to.equal(
          DENIED,
        );
      const rootid = textAt(await byRoot(`{ role(filter: "parentid = null") { roleid } }`), 'role.0.roleid');
      expect(codeOf(await as(preset, `{ Utility { role_token(roleid: ${rootid}) } }`))).to.equal(DENIED);
      expect(await holding(preset)).to.deep.equal(before);
    }
  });

  it('get no more by an API key than they hold', async () => {
    // Tokens of a role that another made for it are not a sign-in: it has to give its password.
    await byRoot(
      `mutation { update_role(roleid: ${people['Support']!.roleid}, input: { password: "correct horse battery" }) { roleid } }`,
    );
    const { access_token } = await shop.fixture.signIn(shop.tenantid, 'the Support', 'correct horse battery');
    people['Support'] = { ...people['Support']!, token: access_token };
    const made = await as(
      'Support',
      'mutation { create_api_key(input: { name: "k", capabilities: ["admin", "edit_email", "view_delivery"] }) { key } }',
    );
    const key = textAt(made, 'data.create_api_key.key');
    expect((await shop.fixture.control(key, '{ email_delivery { deliveryid } }')).errors).to.equal(undefined);
    for (const field of [
      'email_types { email_type }',
      'email_rule { ruleid }',
      'Utility { email_transport { set_time } }',
    ])
      expect(codeOf(await shop.fixture.control(key, `{ ${field} }`)), field).to.equal(DENIED);
    expect(
      codeOf(
        await shop.fixture.control(
          key,
          `mutation { Utility { redrive_email_delivery(deliveryid: ${delivery}) { state } } }`,
        ),
      ),
    ).to.equal(DENIED);
  });

  describe('Support', () => {
    it('reads no secrets, no rows and no sent emails', async () => {
      for (const field of [
        'Utility { email_transport { set_time } }',
        'Utility { email_webhook { url } }',
        'Utility { email_webhooks { url } }',
        `Utility { sent_mail(deliveryid: ${delivery}) { html } }`,
        'Utility { preview_email(email_type: "words", target: "vault", key: 2) { subject } }',
        'Utility { recent_rows(target: "vault") { label } }',
        'Utility { explain_event(target: "orders", key: 7) { target } }',
        'Utility { try_email_rule(input: { targets: ["orders"], operations: ["update"] }) { changes } }',
        'oidc_key { kid }',
        'email_types { template }',
        'email_rule { condition }',
      ])
        expect(codeOf(await as('Support', `{ ${field} }`)), field).to.equal(DENIED);
      const { data } = await as('Support', '{ api_key { hint } audit_event { changes roleid } }');
      expect(at(data, 'api_key')).to.have.length(1);
      for (const each of at(data, 'audit_event') as Json[])
        expect(each['roleid']).to.equal(people['Support']!.roleid);
    });

    it('learns nothing of the changed rows, in a list, by a filter, an aggregate or a resend', async () => {
      const filter = 'change.roleid > 0';
      for (const [document, variables] of [
        ['{ email_delivery { deliveryid change { new old } } }', {}],
        ['query ($filter: String) { email_delivery(filter: $filter) { deliveryid } }', { filter }],
        [
          'query ($filter: String) { Aggregates { count(subquery: "{ email_delivery { deliveryid } }", filter: $filter) } }',
          { filter },
        ],
        ['mutation ($filter: String) { Utility { redrive_email_deliveries(filter: $filter) } }', { filter }],
      ] as const)
        expect(codeOf(await as('Support', document, variables)), document).to.equal(DENIED);
      const again = await as(
        'Support',
        `mutation { Utility { redrive_email_delivery(deliveryid: ${delivery}) { state change { new } } } }`,
      );
      expect(again.errors).to.equal(undefined);
      expect(at(again.data, 'Utility.redrive_email_delivery')).to.deep.equal({
        state: 'pending',
        change: null,
      });
    });

    it('sends again only what is there, to whom the rule says', async () => {
      const other = await shop.fixture.signIn(shop.tenantid + 1);
      const theirs = `mutation { Utility { redrive_email_delivery(deliveryid: ${delivery}) { state } } }`;
      expect(codeOf(await shop.fixture.control(other.access_token, theirs))).to.equal('NOT_FOUND');
      for (const more of [
        'recipients: ["eve@example.com"]',
        'email_type: "words"',
        'input: {}',
        'to: "eve@example.com"',
      ])
        expect(
          codeOf(
            await as(
              'Support',
              `mutation { Utility { redrive_email_delivery(deliveryid: ${delivery}, ${more}) { state } } }`,
            ),
          ),
          more,
        ).to.equal('GRAPHQL_VALIDATION');
    });

    it('lifts a suppression, but subscribes nobody again', async () => {
      await byRoot(`mutation {
        create_email_suppression(input: { address: "gone@example.com" }) { address }
        create_email_unsubscribe(input: { address: "left@example.com", all_types: true }) { address } }`);
      expect(
        codeOf(
          await as(
            'Support',
            'mutation { delete_email_unsubscribe(address: "left@example.com") { address } }',
          ),
        ),
      ).to.equal(DENIED);
      const lifted = await as(
        'Support',
        'mutation { delete_email_suppression(address: "gone@example.com") { address } }',
      );
      expect(lifted.errors).to.equal(undefined);
      expect(await byRoot('{ email_suppression { address } email_unsubscribe { address } }')).to.deep.equal({
        email_suppression: [],
        email_unsubscribe: [{ address: 'left@example.com' }],
      });
    });

    it('needs both capabilities', async () => {
      const half = await shop.fixture.createMember(shop.root, 'half', ['login', 'repair_delivery']);
      for (const document of [
        '{ email_suppression { address } }',
        '{ email_delivery { deliveryid } }',
        `mutation { Utility { redrive_email_delivery(deliveryid: ${delivery}) { state } } }`,
        'mutation { Utility { redrive_email_deliveries } }',
        'mutation { create_email_suppression(input: { address: "x@example.com" }) { address } }',
      ])
        expect(codeOf(await shop.fixture.control(half.token, document)), document).to.equal(DENIED);
    });
  });

  describe('Editor', () => {
    const VALUES: Json = {
      email_type: 'stolen',
      recipients: ['eve@example.com'],
      sender: 'Eve <eve@example.com>',
      queries: [{ query: '{ orders { customer } }', outvar: 'words' }],
      options: { bcc: ['eve@example.com'] },
      attachments: ['word'],
      reply_to: 'eve@example.com',
      headers: { 'X-Word': '{{ records.new.word }}' },
      categories: ['{{ records.new.word }}'],
      syntax: 'liquid',
      undefined: 'strict',
      locale: '{{ records.new.word }}',
      unsubscribe: 'all',
    };
    const INPUTS = Object.entries<Column>(emailTypes.columns).flatMap(([name, { input }]) =>
      input ? [name] : [],
    );
    const version = async (): Promise<string> =>
      textAt(
        await byRoot(`{ email_types(filter: "email_type = 'words'") { version } }`),
        'email_types.0.version',
      );

    it('smuggles in nothing but wording, whichever the way', async () => {
      expect(INPUTS).to.have.members([...WORDING, 'based_on', ...Object.keys(VALUES)]);
      const before = await version();
      for (const [name, value] of Object.entries(VALUES)) {
        for (const given of [value, null]) {
          for (const [document, more] of [
            [
              'mutation ($input: email_typesInput) { update_email_type(email_type: "words", input: $input) { version } }',
              {},
            ],
            [
              'mutation ($input: email_typesInput) { Utility { save_email_draft(email_type: "words", input: $input) } }',
              {},
            ],
            [
              'query ($input: email_typesInput) { Utility { preview_email(email_type: "words", input: $input, target: "vault") { subject } } }',
              {},
            ],
            [
              'query ($input: email_typesInput) { Utility { check_email(email_type: "words", input: $input) { code } } }',
              {},
            ],
            [
              'query ($input: email_typesInput) { Utility { template_names(email_type: "words", input: $input) { context } } }',
              {},
            ],
          ] as const) {
            const input = { subject: 'x', ...more, [name]: given };
            expect(codeOf(await as('Editor', document, { input })), `${name}: ${document}`).to.equal(DENIED);
          }
        }
      }
      expect(await version()).to.equal(before);
      expect(await byRoot('{ email_type_version(filter: "version = 0") { version } }')).to.deep.equal({
        email_type_version: [],
      });
    });

    it('writes no email of its own, and deletes none', async () => {
      const input = { ...VALUES, email_type: 'new', template: 'x', subject: 'x' };
      for (const document of [
        'mutation ($input: email_typesInput) { create_email_type(input: $input) { version } }',
        'query ($input: email_typesInput) { Utility { preview_email(input: $input, context: {}) { subject } } }',
        'query ($input: email_typesInput) { Utility { check_email(input: $input) { code } } }',
        'mutation ($input: email_typesInput) { Utility { send_test_email(input: $input, to: "eve@example.com", context: {}) { sent } } }',
        'mutation { Utility { send_test_email(email_type: "words", to: "eve@example.com", target: "vault") { sent } } }',
        'mutation { delete_email_type(email_type: "words") { version } }',
        'mutation { update_email_layout(name: "base", input: { template: "x" }) { name } }',
      ])
        expect(codeOf(await as('Editor', document, { input })), document).to.equal(DENIED);
      const draft = 'mutation { Utility { save_email_draft(email_type: "new", input: { subject: "x" }) } }';
      expect(codeOf(await as('Editor', draft))).to.equal('NOT_FOUND');
    });

    it('sees in a preview only rows that it may read itself', async () => {
      const preview = (args: string): Promise<GraphqlResult> =>
        as(
          'Editor',
          `query ($input: email_typesInput) { Utility { preview_email(email_type: "words", input: $input, ${args}) { subject html error { code } queries { result error } } } }`,
          {
            input: {
              template: '{{ words | tojson }} {{ records | tojson }}',
              text: '{{ records | tojson }}',
            },
          },
        );
      const own = await preview('target: "vault", key: 1');
      expect(own.errors).to.equal(undefined);
      // The last one that it may read, and not the last one.
      expect(at((await preview('target: "vault"')).data, 'Utility')).to.deep.equal(at(own.data, 'Utility'));
      expect(textAt(own.data, 'Utility.preview_email.subject')).to.equal('open');
      for (const args of [
        'target: "vault", key: 1',
        'target: "vault"',
        'context: { records: { new: { word: "x" } } }',
      ])
        expect(JSON.stringify(await preview(args)), args).not.to.include(SECRET);
      expect(codeOf(await preview('target: "vault", key: 2'))).to.equal('NOT_FOUND');
      for (const operation of ['update', 'delete', 'upload'])
        expect(
          codeOf(await preview(`target: "vault", key: 2, operation: "${operation}"`)),
          operation,
        ).to.equal('NOT_FOUND');
      for (const args of [
        'target: "orders"',
        'target: "orders", key: 7',
        `target: "vault", key: 1, query_roleid: ${people['Administrator']!.roleid}`,
      ])
        expect(codeOf(await preview(args)), args).to.equal(DENIED);
      const rows = (target: string): Promise<GraphqlResult> =>
        as('Editor', `{ Utility { recent_rows(target: "${target}") { key label } } }`);
      expect(at((await rows('vault')).data, 'Utility.recent_rows')).to.deep.equal([
        { key: { id: 1 }, label: 'open' },
      ]);
      expect(codeOf(await rows('orders'))).to.equal(DENIED);
    });

    it('sees no rows without select', async () => {
      const blind = await shop.fixture.createMember(shop.root, 'blind', ['login', 'edit_email']);
      await byRoot(
        `mutation { create_policy_rule(input: { name: "to all", capabilities: ["select"], targets: ["vault"] }) { ruleid } }`,
      );
      for (const field of [
        'preview_email(email_type: "words", target: "vault") { subject }',
        'recent_rows(target: "vault") { key }',
      ])
        expect(codeOf(await shop.fixture.control(blind.token, `{ Utility { ${field} } }`)), field).to.equal(
          DENIED,
        );
      await byRoot(
        `mutation { delete_policy_rule(ruleid: ${textAt(await byRoot(`{ policy_rule(filter: "name = 'to all'") { ruleid } }`), 'policy_rule.0.ruleid')}) { ruleid } }`,
      );
    });

    it('leaves in a draft what an admin has changed besides the wording', async () => {
      const queries = [{ query: '{ orders { status } }', outvar: 'orders' }];
      const save =
        'mutation ($input: email_typesInput) { Utility { save_email_draft(email_type: "words", input: $input) } }';
      await byRoot(save, { input: { subject: 'by the admin', queries } });
      expect((await as('Editor', save, { input: { subject: 'by the editor' } })).errors).to.equal(undefined);
      const kept = await byRoot('{ email_type_version(filter: "version = 0") { content } }');
      expect(at(kept, 'email_type_version.0.content')).to.deep.equal({ subject: 'by the editor', queries });
    });

    it('changes the wording, and takes it back', async () => {
      const update = (subject: string): Promise<GraphqlResult> =>
        as(
          'Editor',
          'mutation ($input: email_typesInput) { update_email_type(email_type: "words", input: $input) { subject queries { query outvar } recipients } }',
          { input: { subject } },
        );
      const was = '{{ records.new.word }}';
      for (const subject of ['Dear {{ records.new.word }}', was])
        expect(at((await update(subject)).data, 'update_email_type')).to.deep.equal({
          subject,
          queries: QUERIES,
          recipients: ['ada@example.com'],
        });
    });
  });
});

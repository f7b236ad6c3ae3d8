import { expect } from 'chai';
import { at, type Json } from '../api/webFixture.js';
import { openFileShop, type FileJson, type FileShop } from '../files/fileShop.js';

/** Whose file it is, and who wants it: a role that may write rows of its own and may download nothing. */
const SECRET = { id: 1, filename: 'salaries.txt', bytes: 'the salaries' };

describe("attack: another row's file as an attachment", () => {
  let shop: FileShop;
  let secret: FileJson;
  let client: string;

  before(async () => {
    shop = await openFileShop({ env: { MAIL_TRANSPORT: 'mailbox' } });
    await shop.sql('alter table doc add column meta jsonb');
    await shop.fixture.engine.introspect(shop.tenantid, await schema());
    await shop.fixture.control(shop.root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    const member = await shop.fixture.createMember(shop.root, 'client', ['select', 'insert', 'update']);
    client = member.token;
    await shop.fixture.control(
      shop.root,
      'mutation ($input: policy_ruleInput) { create_policy_rule(input: $input) { ruleid } }',
      {
        input: {
          name: 'own rows',
          capabilities: ['select', 'insert', 'update'],
          targets: ['doc'],
          roles: [member.roleid],
          filter: 'id >= 3',
        },
      },
    );
    secret = await shop.store(SECRET.filename, SECRET.bytes, SECRET.id);
  });
  after(() => shop.close());

  const schema = async (): Promise<string> =>
    (
      await shop.rows<{ schema: string }>('select schema from rowpost.tenant where tenantid = $1', [
        shop.tenantid,
      ])
    )[0]!.schema;
  const refusal = async (mutation: string): Promise<unknown> =>
    (await shop.ask(`mutation { ${mutation} }`, {}, client)).errors?.[0]?.extensions.code;

  let types = 0;
  /** What an email about doc `id` would attach, with the rights of the tenant's root. */
  const attachedTo = async (id: number, changes: Json): Promise<Json> => {
    const name = `type_${++types}`;
    const saved = await shop.fixture.control(
      shop.root,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
      {
        input: {
          email_type: name,
          template: 'hello',
          subject: 'hello',
          recipients: ['client@example.com'],
          sender: 'shop@example.com',
          ...changes,
        },
      },
    );
    expect(saved.errors).to.equal(undefined);
    const reply = await shop.fixture.control(
      shop.root,
      `{ Utility { preview_email(email_type: "${name}", target: "doc", key: ${id}, operation: "insert") {
        attachments { filename } error { code } } } }`,
    );
    return at(reply, 'data.Utility.preview_email') as Json;
  };
  const NOTHING = { attachments: null, error: { code: 'ATTACHMENT_MISSING' } };

  it("can't be referenced in the file column by any mutation", async () => {
    const key = `"${secret.storagekey}"`;
    for (const mutation of [
      `create_doc(input: { id: 10, document: ${key} }) { id }`,
      `create_doc(input: { id: 3, document: ${key} }, onconflict: update) { id }`,
      `create_many_doc(input: [{ id: 10 }, { id: 11, document: ${key} }]) { id }`,
      `update_doc(id: 3, input: { document: ${key} }) { id }`,
      'update_doc(id: 3, input: { document: null }) { id }',
    ]) {
      expect(await refusal(mutation), mutation).to.equal('FILE_COLUMN_READ_ONLY');
    }
    expect(await refusal('create_doc(input: { id: 12, title: "mine" }) { id }')).to.equal(undefined);
  });

  it('is not attached even where a column references it', async () => {
    await shop.sql(`insert into doc values (20, '${secret.storagekey}', '${secret.storagekey}')`);
    expect(await attachedTo(20, { attachments: ['document'] })).to.deep.equal(NOTHING);
    expect(await attachedTo(20, { attachments: ['title'] })).to.deep.equal(NOTHING);
    expect(await attachedTo(SECRET.id, { attachments: ['document'] })).to.deep.equal({
      attachments: [{ filename: SECRET.filename }],
      error: null,
    });
  });

  it('is not attached where query data looks like a file', async () => {
    const forged = JSON.stringify({ storagekey: secret.storagekey });
    await shop.sql(`insert into doc (id, title, meta) values (21, '${secret.storagekey}', '${forged}')`);
    const query = (selection: string, filter: string): Json => ({
      attachments: ['docs'],
      queries: [
        {
          query: `query ($filter: String) { doc(filter: $filter) { ${selection} } }`,
          filter,
          outvar: 'docs',
        },
      ],
    });
    const none = { attachments: [], error: null };
    expect(await attachedTo(21, query('meta', 'id = 21'))).to.deep.equal(none);
    expect(await attachedTo(21, query('storagekey: title', 'id = 21'))).to.deep.equal(none);
    expect(await attachedTo(21, query('thefiles { key: storagekey }', 'id = 1'))).to.deep.equal({
      attachments: [{ filename: SECRET.filename }],
      error: null,
    });
  });

  it('has a URL that does not reveal its storage key', async () => {
    const [file] = await shop.files(SECRET.id);
    const address = new URL(file!.url!).pathname.slice('/files/'.length);
    for (const part of [address, ...address.split('.')]) {
      expect(Buffer.from(part, 'base64url').toString('latin1')).not.to.include(secret.storagekey);
    }
    expect(await (await fetch(file!.url!)).text()).to.equal(SECRET.bytes);
  });
});

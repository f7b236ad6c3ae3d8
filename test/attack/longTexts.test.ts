import { expect } from 'chai';
import { codeOf, WebFixture, type GraphqlResult } from '../api/webFixture.js';
import { watchEventLoop } from '../support/loopBlocks.js';

/** The most that a filter has. Where work grew with the square of it, each of these texts took 2 to 30 s. */
const LENGTH = 99_000;
const MAX_HELD_MS = 1_000;

const TABLES = `
  create table note (id int primary key, bytes bytea, weight float8, price numeric(8, 2), label varchar(20), body text, doc text);
  insert into note (id, body) values (1, repeat(' ', ${LENGTH}))`;

describe('attack: long texts that almost fit a pattern', () => {
  let fixture: WebFixture;
  let root: string;
  let nobody: string;

  before(async () => {
    fixture = await WebFixture.start();
    const { tenantid } = await fixture.createTenant('hostile', TABLES);
    root = (await fixture.signIn(tenantid)).access_token;
    for (const setUp of [
      '{ Utility { anonymous_logins(enable: true) } }',
      'mutation { Utility { set_file_table(table_name: "note", column_name: "doc") { table_name } } }',
      `mutation { create_policy_rule(input: {
        name: "all", capabilities: ["select", "insert", "upload"], targets: ["note"] }) { ruleid } }`,
    ]) {
      expect((await fixture.control(root, setUp)).errors).to.equal(undefined);
    }
    const visit = await fixture.postJson('/anonauth', { tenantid });
    nobody = ((await visit.json()) as { access_token: string }).access_token;
  });
  after(() => fixture.stop());

  /** Sends the request while the event loop is watched: nobody else is served while it is held. */
  const ask = async (
    path: '/query' | '/roles_pbac',
    token: string,
    query: string,
    variables: unknown,
  ): Promise<GraphqlResult> => {
    const longestMs = watchEventLoop();
    const response = await fixture.graphql(path, token, query, variables);
    const heldMs = longestMs();
    expect(heldMs, query).to.be.below(MAX_HELD_MS);
    return response;
  };

  describe('of an anonymous client', () => {
    const INSERT = 'mutation ($input: noteInput) { create_note(input: $input) { id } }';
    const almost = {
      bytes: `${' '.repeat(LENGTH)}!`,
      weight: `${'1'.repeat(LENGTH)}x`,
      price: `${'1'.repeat(LENGTH)}x`,
      label: `x${' '.repeat(LENGTH)}x`,
    };
    for (const [column, text] of Object.entries(almost)) {
      it(`for the column ${column}`, async () => {
        const response = await ask('/query', nobody, INSERT, { input: { id: 2, [column]: text } });
        expect(codeOf(response)).to.be.oneOf(['BAD_USER_INPUT', 'GRAPHQL_VALIDATION_FAILED']);
      });
    }

    const read = (filter: string): Promise<GraphqlResult> =>
      ask('/query', nobody, 'query ($filter: String) { note(filter: $filter) { id } }', { filter });

    it('as a number in a filter', async () => {
      for (const column of ['price', 'weight']) {
        expect(codeOf(await read(`${column} > '${'1'.repeat(LENGTH)}x'`))).to.equal('FILTER_TYPE');
      }
    });

    it('as a pattern in a filter', async () => {
      const { data } = await read(`label like '${'\\'.repeat(LENGTH)}x'`);
      expect(data).to.deep.equal({ note: [] });
    });

    it('as the name of a file', async () => {
      const upload = `mutation ($name: String!) { upload_note(id: 1, input: { filename: $name, mimetype: "text/plain" }) { storagekey } }`;
      const response = await ask('/query', nobody, upload, { name: `x${'.'.repeat(LENGTH)}x` });
      expect(response.errors).to.equal(undefined);
    });
  });

  describe('of an administrator', () => {
    const letter = { template: 'x', subject: 's', sender: 'a@example.com', recipients: ['b@example.com'] };
    const PREVIEW = `query ($input: email_typesInput, $target: String, $key: GenericScalar) {
      Utility { preview_email(input: $input, target: $target, key: $key) { html error { code } } } }`;
    const beginnings = '{{'.repeat(LENGTH);

    it('as templates whose tags have no end', async () => {
      for (const input of [
        { ...letter, sender: beginnings },
        { ...letter, headers: { 'X-A': beginnings } },
        {
          ...letter,
          queries: [
            {
              query: 'query ($filter: String) { note(filter: $filter) { id } }',
              filter: beginnings,
              outvar: 'n',
            },
          ],
        },
      ]) {
        const check = 'query ($input: email_typesInput) { Utility { check_email(input: $input) { code } } }';
        await ask('/roles_pbac', root, check, { input });
        const response = await ask('/roles_pbac', root, PREVIEW, { input, target: 'note', key: 1 });
        expect(JSON.stringify(response)).to.match(/TEMPLATE_SYNTAX|BAD_USER_INPUT|TEMPLATE_FAILED/);
      }
    });

    it('as an address of quotes', async () => {
      const input = { ...letter, sender: `{{ '"' * ${4 * LENGTH} }}` };
      const response = await ask('/roles_pbac', root, PREVIEW, { input, target: 'note', key: 1 });
      expect(response.data).to.deep.equal({
        Utility: { preview_email: { html: null, error: { code: 'SENDER_INVALID' } } },
      });
    });

    it('in a row that an email is about', async () => {
      const response = await ask('/roles_pbac', root, PREVIEW, { input: letter, target: 'note', key: 1 });
      expect(response.data).to.deep.equal({ Utility: { preview_email: { html: 'x', error: null } } });
    });
  });
});

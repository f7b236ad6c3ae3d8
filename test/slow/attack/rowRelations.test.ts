import { expect } from 'chai';
import { at, textAt, WebFixture, type GraphqlResult } from '../../api/webFixture.js';
import { expectDocumentedTable } from '../../support/documentedTable.js';

/** Whose the row is, to the caller. A row is its owner's, by the only rule of the table. */
const OWNERS = ['itself', 'a child', 'its parent', 'a sibling', 'the root', 'nobody'] as const;
type Owner = (typeof OWNERS)[number];
const HOLDERS = ['with', 'without'] as const;
type Holder = (typeof HOLDERS)[number];
const CAPABILITIES = ['select', 'insert', 'update', 'delete'];

/** What reads the note `$id`: an outcome is `yes` if its text is in the response. */
const READS: Readonly<Record<string, string>> = {
  'note (filter)': 'note(filter: "id = $id") { body }',
  'note (ordering)': 'note(ordering: ["id"]) { id body }',
  'note of a tag': 'tag(filter: "id = $id") { note { body } }',
  'tag (filter on its note)': 'tag(filter: "note.id = $id") { label }',
  'tag (exists)': 'tag(filter: "id = $id and note.body is not null") { label }',
  Aggregates: 'Aggregates { max(subquery: "{ note { body } }", filter: "id = $id") }',
  'Aggregates (of related rows)':
    'Aggregates { max(subquery: "{ tag { label } }", filter: "note.id = $id") }',
};
const WRITES: Readonly<Record<string, string>> = {
  update_note: 'update_note(id: $id, input: {body: "changed"}) { id }',
  'update_note (owner)': 'update_note(id: $id, input: {owner: $caller}) { id }',
  delete_note: 'delete_note(id: $id) { id }',
  'create_note (as its owner)': 'create_note(input: {id: $new, owner: $owner, body: "new"}) { id }',
  'create_note (onconflict: update)':
    'create_note(input: {id: $id, owner: $caller, body: "taken"}, onconflict: update) { id }',
};
/** Fails after everything else of its request, which is rolled back then. */
const ROLLBACK = 'rollback: create_tag(input: {id: 999, note_id: -1}) { id }';

describe('what a role may do to a row (docs/reference/permissions.md)', () => {
  let fixture: WebFixture;
  let tenantid: number;
  let root: string;
  const callers = {} as Record<Holder, { roleid: number; token: string; owners: Record<Owner, number> }>;
  const notes = new Map<number, number>();

  before(async () => {
    fixture = await WebFixture.start();
    const tenant = await fixture.createTenant(
      'bank',
      `create table note (id int primary key, owner int, body text);
       create table tag (id int primary key, note_id int references note on delete cascade, label text)`,
    );
    ({ tenantid } = tenant);
    root = (await fixture.signIn(tenantid)).access_token;
    for (const holder of HOLDERS) {
      const member = (what: string, parentid?: number) =>
        fixture.createMember(
          root,
          `${what} ${holder}`,
          ['login', ...(holder === 'with' ? CAPABILITIES : [])],
          parentid,
        );
      const parent = await member('parent');
      const { roleid, token } = await member('caller', parent.roleid);
      callers[holder] = {
        roleid,
        token,
        owners: {
          itself: roleid,
          'a child': (await member('child', roleid)).roleid,
          'its parent': parent.roleid,
          'a sibling': (await member('sibling', parent.roleid)).roleid,
          'the root': tenant.rootRoleid,
          nobody: 0,
        },
      };
    }
    const rule = (name: string, targets: string, filter: string): string =>
      `${name}: create_policy_rule(input: {name: "${name}", capabilities: ${JSON.stringify(CAPABILITIES)},
        targets: ["${targets}"], filter: "${filter}"}) { ruleid }`;
    const made = await fixture.control(
      root,
      `mutation { ${rule('notes', 'note', 'owner = $_PRINCIPAL.roleid')} ${rule('tags', 'tag', 'true')} }`,
    );
    expect(made.errors).to.equal(undefined);
    const owners = new Set(HOLDERS.flatMap((holder) => Object.values(callers[holder].owners)));
    for (const [index, owner] of [...owners].entries()) {
      const id = index + 1;
      notes.set(owner, id);
      const { errors } = await fixture.graphql(
        '/query',
        root,
        `mutation { create_note(input: {id: ${id}, owner: ${owner}, body: "body of ${id}"}) { id }
          create_tag(input: {id: ${id}, note_id: ${id}, label: "label of ${id}"}) { id } }`,
      );
      expect(errors).to.equal(undefined);
    }
  });
  after(() => fixture.stop());

  function filled(text: string, holder: Holder, owner: Owner): string {
    const { roleid, owners } = callers[holder];
    return text
      .replaceAll('$id', String(notes.get(owners[owner])))
      .replaceAll('$new', '1000')
      .replaceAll('$owner', String(owners[owner]))
      .replaceAll('$caller', String(roleid));
  }

  /** `yes` only if the response has a text of the row. */
  function read({ data, errors }: GraphqlResult, holder: Holder, owner: Owner): string {
    if (errors?.some(({ extensions }) => extensions.code === 'PERMISSION_DENIED')) return 'no';
    expect(errors, JSON.stringify(errors)).to.equal(undefined);
    const id = notes.get(callers[holder].owners[owner]);
    return new RegExp(`(?:body|label) of ${id}"`).test(JSON.stringify(data)) ? 'yes' : 'hidden';
  }

  function written({ errors }: GraphqlResult): string {
    const code = errors?.find(({ path }) => path?.[0] !== 'rollback')?.extensions.code;
    if (code === undefined) return 'yes';
    return code === 'PERMISSION_DENIED' ? 'no' : code === 'NOT_FOUND' ? 'hidden' : code;
  }

  async function sent(
    token: string,
    query: string,
    headers: Record<string, string> = {},
  ): Promise<GraphqlResult> {
    const response = await fixture.postJson(
      '/query',
      { query },
      { authorization: `Bearer ${token}`, ...headers },
    );
    return (await response.json()) as GraphqlResult;
  }

  /** The rows of an email's query that runs as the caller. */
  async function ofEmail(field: string, roleid: number): Promise<GraphqlResult> {
    const response = await fixture.control(
      root,
      `query ($input: email_typesInput, $role: Int) { Utility { preview_email(input: $input, context: {}, query_roleid: $role) {
        queries { result error } } } }`,
      {
        role: roleid,
        input: {
          email_type: 'draft',
          template: 'x',
          subject: 'x',
          recipients: ['a@example.com'],
          sender: 'b@example.com',
          queries: [{ outvar: 'found', query: `{ ${field} }` }],
        },
      },
    );
    expect(response.errors).to.equal(undefined);
    const [query] = at(response, 'data.Utility.preview_email.queries') as {
      result: unknown;
      error: string | null;
    }[];
    if (query?.error != null) {
      expect(query.error).to.match(/may not|not allowed|permission/i);
      return {
        errors: [{ message: query.error, extensions: { code: 'PERMISSION_DENIED' } }],
      };
    }
    return { data: { found: query?.result } };
  }

  async function outcomeOfRead(field: string, holder: Holder, owner: Owner): Promise<string> {
    const { roleid, token } = callers[holder];
    const text = filled(field, holder, owner);
    const responses = [
      await sent(token, `{ ${text} }`),
      await sent(
        token,
        `{ first: note(filter: "false") { id } ...F } fragment F on Query { again: ${text} }`,
      ),
      await ofEmail(text, roleid),
    ];
    const cells = responses.map((response) => read(response, holder, owner));
    expect(new Set(cells), `${text}: ${cells.join(', ')}`).to.have.length(1);
    return cells[0]!;
  }

  async function outcomeOfWrite(field: string, holder: Holder, owner: Owner): Promise<string> {
    const { token } = callers[holder];
    const text = filled(field, holder, owner);
    const key = { 'idempotency-key': `"${holder} ${text}"` };
    const documents = [
      [`mutation { done: ${text} ${ROLLBACK} }`, {}],
      [`mutation { ...F ${ROLLBACK} } fragment F on Mutation { done: ${text} }`, {}],
      [`mutation { done: ${text} ${ROLLBACK} }`, key],
      [`mutation { done: ${text} ${ROLLBACK} }`, key],
    ] as const;
    const cells: string[] = [];
    for (const [document, headers] of documents) cells.push(written(await sent(token, document, headers)));
    expect(new Set(cells), `${text}: ${cells.join(', ')}`).to.have.length(1);
    return cells[0]!;
  }

  it('matches the documentation, by each way (UPDATE_DOCS=1 regenerates it)', async () => {
    const rows: string[] = [];
    for (const holder of HOLDERS) {
      const row = async (name: string, cellOf: (owner: Owner) => Promise<string>): Promise<void> => {
        const cells: string[] = [];
        for (const owner of OWNERS) cells.push(await cellOf(owner));
        rows.push(`| \`${name}\` ${holder} | ${cells.join(' | ')} |`);
      };
      for (const [name, field] of Object.entries(READS)) {
        await row(name, (owner) => outcomeOfRead(field, holder, owner));
      }
      for (const [name, field] of Object.entries(WRITES)) {
        await row(name, (owner) => outcomeOfWrite(field, holder, owner));
      }
    }
    const head = `| | ${OWNERS.join(' | ')} |\n|${' --- |'.repeat(OWNERS.length + 1)}`;
    expectDocumentedTable('rows', `${head}\n${rows.join('\n')}`);
  });

  it('responds to a repeated request of another role with what that role may see', async () => {
    const [mine, other] = [callers.with, callers.without];
    const headers = { 'idempotency-key': '"one key"' };
    const create = `mutation { create_note(input: {id: 2000, owner: ${mine.roleid}, body: "secret"}) { body } }`;
    expect(textAt(await sent(mine.token, create, headers), 'data.create_note.body')).to.equal('secret');
    expect(JSON.stringify(await sent(other.token, create, headers))).not.to.include('"body":"secret"');
  });

  it('is nothing for the root of another tenant, and while the tenant is suspended', async () => {
    const other = await fixture.createTenant(
      'other',
      'create table note (id int primary key, owner int, body text)',
    );
    const outsider = (await fixture.signIn(other.tenantid)).access_token;
    for (const field of Object.values({ ...READS, ...WRITES })) {
      const kind = Object.values(WRITES).includes(field) ? 'mutation ' : '';
      const text = `${kind}{ done: ${filled(field, 'with', 'itself')} }`;
      expect(JSON.stringify(await sent(outsider, text)), text).not.to.match(/(?:body|label) of/);
    }
    const { pool } = fixture.testDatabase.database;
    await pool.query('update rowpost.tenant set suspended = true where tenantid = $1', [tenantid]);
    fixture.principals.forgetAll();
    for (const field of Object.values({ ...READS, ...WRITES })) {
      const kind = Object.values(WRITES).includes(field) ? 'mutation ' : '';
      const text = `${kind}{ done: ${filled(field, 'with', 'itself')} }`;
      expect(await sent(callers.with.token, text), text).to.have.property('code', 'TENANT_SUSPENDED');
    }
  });
});

import { expect } from 'chai';
import { ExactSite, WAYS } from '../graphql/support/exactRequests.js';

const ODD = '9007199254740993';
const DDL = `
  create table doc (id bigint primary key, amount numeric, document text);
  insert into doc values (9007199254740992, 1), (${ODD}, 12345678901234567890.50);
`;

describe('files: rows with keys beyond double precision', () => {
  let site: ExactSite;
  before(async () => {
    site = await ExactSite.open(DDL);
    const { body } = await site
      .at('/roles_pbac')
      .ask(
        'mutation { Utility { set_file_table(table_name: "doc", column_name: "document") { table_name } } }',
      );
    expect(body).to.not.contain('errors');
  });
  after(() => site.close());

  for (const way of Object.keys(WAYS)) {
    it(`an upload requested ${way} belongs to the named row, with its event`, async () => {
      const { body } = await site.ask(
        'mutation ($id: ID!) { upload_doc(id: $id, input: { filename: "a.txt" }) { upload_url } }',
        `{"id":${ODD}}`,
        way,
      );
      const url = /"upload_url":"([^"]+)"/.exec(body)?.[1] ?? '';
      expect(
        (await fetch(url.replace(/^https?:\/\/[^/]+/, site.fixture.url), { method: 'PUT', body: way }))
          .status,
      ).to.equal(201);
      const files = await site.ask('{ doc(ordering: "id") { id thefiles { filename } } }');
      expect(files.body).to.match(
        new RegExp(`"9007199254740992","thefiles":\\[\\]\\},\\{"id":"${ODD}","thefiles":\\[\\{`),
      );
      const [event] = await site.texts(
        `select concat_ws(' ', operation, key ->> 'id', new ->> 'id', new ->> 'amount') from rowpost.outbox order by eventid desc limit 1`,
      );
      expect(event).to.equal(`upload ${ODD} ${ODD} 12345678901234567890.50`);
    });
  }

  it('a size or a number that is too large is quoted as sent', async () => {
    for (const field of ['size', 'filenum']) {
      const { body } = await site.ask(
        'mutation ($input: FileObjectInput!) { upload_doc(id: 1, input: $input) { upload_url } }',
        `{"input":{"filename":"a.txt","${field}":${ODD}}}`,
      );
      expect(body).to.contain(`Int cannot represent ${ODD}`);
    }
  });
});

import { rename, rm } from 'node:fs/promises';
import { expect } from 'chai';
import { at, textAt, type GraphqlResult, type Json } from '../api/webFixture.js';
import { pipelineConfig, startPipeline } from '../delivery/pipelineSetup.js';
import { partOf, startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { waitFor } from '../support/waitFor.js';
import { onFixture, openFileShop, type FileShop } from './fileShop.js';

const FILES_QUERY = {
  query: 'query ($filter: String) { doc(filter: $filter) { title thefiles { storagekey filename } } }',
  filter: 'id = {{ records.new.id }}',
  outvar: 'docs',
};

describe('files in emails', () => {
  let shop: FileShop;
  let provider: FakeProvider;
  let clerk: number;
  before(async () => {
    provider = await startFakeProvider();
    shop = await openFileShop({
      env: { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: provider.url },
    });
    await shop.fixture.control(shop.root, 'mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
    clerk = (await shop.fixture.createMember(shop.root, 'clerk', ['select'])).roleid;
    await shop.store('report.txt', 'the report');
    await shop.store('picture.png', 'the picture');
  });
  after(async () => {
    await shop.close();
    await provider.stop();
  });

  let types = 0;
  const createType = async (changes: Json): Promise<string> => {
    const name = `type_${++types}`;
    const reply = await save(name, changes);
    expect(reply.errors).to.equal(undefined);
    return name;
  };
  const save = (name: string, changes: Json): Promise<GraphqlResult> =>
    shop.fixture.control(
      shop.root,
      'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type attachments } }',
      {
        input: {
          email_type: name,
          template: '{{ file.filename }}, {{ file.size }} bytes: {{ file.url }}',
          subject: '{{ records.new.title }}: {{ file.filename }}',
          recipients: ['ada@example.com'],
          sender: 'shop@example.com',
          ...changes,
        },
      },
    );
  const preview = async (type: string, args = 'operation: "upload"'): Promise<unknown> => {
    const reply = await shop.fixture.control(
      shop.root,
      `{ Utility { preview_email(email_type: "${type}", target: "doc", key: 1, ${args}) {
        subject html attachments { filename mimetype size } error { code field message } } } }`,
    );
    return at(reply, 'data.Utility.preview_email');
  };
  const sendTest = async (type: string): Promise<unknown> => {
    const reply = await shop.fixture.control(
      shop.root,
      `mutation { Utility { send_test_email(email_type: "${type}", target: "doc", key: 1, operation: "upload", to: "eva@example.com") { sent error { code } } } }`,
    );
    return at(reply, 'data.Utility.send_test_email');
  };
  it('embeds exactly the files that the HTML names by storage key, but no texts', async () => {
    const embedded = async (filter: string): Promise<unknown> => {
      const template = `{% for f in docs[0].thefiles if ${filter} %}<img src="cid:{{ f.storagekey }}">{% endfor %} cid:nothing`;
      const type = await createType({ attachments: ['docs'], queries: [FILES_QUERY], template });
      expect(await sendTest(type)).to.include({ sent: true });
      const { body } = provider.calls.at(-1)!;
      const named = Array.from(partOf(body)!.matchAll(/cid:([\w-]{36})/g), ([, key]) => key);
      return body
        .attachments!.map(({ filename, disposition, content_id: id }) => [
          filename,
          disposition,
          id === undefined ? id : named.includes(id),
        ])
        .sort();
    };
    const asFiles = [
      ['picture.png', 'attachment', undefined],
      ['report.txt', 'attachment', undefined],
    ];
    expect(await embedded('false')).to.deep.equal(asFiles);
    expect(await embedded('f.filename == "report.txt"')).to.deep.equal(asFiles);
    expect(await embedded('true')).to.deep.equal([['picture.png', 'inline', true], asFiles[1]]);
  });

  const attached = (): unknown =>
    provider.calls
      .at(-1)!
      .body.attachments?.map(({ filename, content }) => [
        filename,
        Buffer.from(content, 'base64').toString(),
      ]);

  it('a rule on upload sends its email with the name, the size and a link', async () => {
    const type = await createType({ attachments: ['file'] });
    const rule = await shop.fixture.control(
      shop.root,
      'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }',
      {
        input: {
          name: 'tell of uploads',
          email_type: type,
          operations: ['upload'],
          targets: ['doc'],
          query_roleid: (
            await shop.rows<{ root_roleid: number }>(
              'select root_roleid from rowpost.tenant where tenantid = $1',
              [shop.tenantid],
            )
          )[0]!.root_roleid,
          condition: "new.title = 'two' and new.document is not null",
        },
      },
    );
    expect(rule.errors).to.equal(undefined);
    const { fixture } = shop;
    const config = await pipelineConfig('postgres', {
      SENDGRID_BASE_URL: provider.url,
      STORAGE_URL: `file:${shop.folder}`,
    });
    const pipeline = await startPipeline(fixture.testDatabase.database, config, fixture);
    try {
      const before = provider.calls.length;
      await shop.store('elsewhere.txt', 'x', 3);
      await shop.store('bill.txt', 'the bill', 2);
      await waitFor('the email', () => provider.calls.length > before);
      const { body } = provider.calls.at(-1)!;
      expect(body.subject).to.equal('two: bill.txt');
      const [, url] = /^bill\.txt, 8 bytes: (\S+)$/.exec(partOf(body)!)!;
      const download = await fetch(onFixture(fixture, url!.replaceAll('&amp;', '&')));
      expect(await download.text()).to.equal('the bill');
      expect(attached()).to.deep.equal([['bill.txt', 'the bill']]);
      const [delivery] = await shop.rows<Json>('select operation, target from rowpost.delivery');
      expect(delivery).to.deep.equal({ operation: 'upload', target: 'doc' });
    } finally {
      await pipeline.stop();
    }
  });

  it('are attached by column, by query, or as the uploaded file, each once', async () => {
    const type = await createType({ attachments: ['document', 'docs', 'file'], queries: [FILES_QUERY] });
    expect(await preview(type)).to.deep.include({
      attachments: [
        { filename: 'picture.png', mimetype: 'application/octet-stream', size: 11 },
        { filename: 'report.txt', mimetype: 'text/plain', size: 10 },
      ],
      error: null,
    });
    expect(await sendTest(type)).to.deep.equal({ sent: true, error: null });
    expect(attached()).to.deep.equal([
      ['picture.png', 'the picture'],
      ['report.txt', 'the report'],
    ]);
  });

  it('are not attached if the event has none', async () => {
    const type = await createType({ attachments: ['file'], subject: 'x', template: 'x' });
    expect(await preview(type, 'operation: "insert"')).to.deep.include({ attachments: [], error: null });
  });

  const problems: [what: string, changes: Json, args: string, code: string][] = [
    ['a name that is neither', { attachments: ['nothing'] }, 'operation: "upload"', 'ATTACHMENT_UNKNOWN'],
    ['a column that names no file', { attachments: ['title'] }, 'operation: "upload"', 'ATTACHMENT_MISSING'],
  ];
  for (const [what, changes, args, code] of problems) {
    it(`report ${what}`, async () => {
      expect(at(await preview(await createType(changes), args), 'error.code')).to.equal(code);
    });
  }

  it('are not attached for a role that may not download them', async () => {
    const type = await createType({ attachments: ['document'] });
    expect(at(await preview(type, `operation: "upload", query_roleid: ${clerk}`), 'error.code')).to.equal(
      'ATTACHMENT_MISSING',
    );
    const html = textAt(
      await preview(await createType({}), `operation: "upload", query_roleid: ${clerk}`),
      'html',
    );
    const link = html.split(': ').at(-1)!.replaceAll('&amp;', '&');
    expect((await fetch(onFixture(shop.fixture, link))).status).to.equal(403);
  });

  it("above the provider's limit fail the email", async () => {
    const type = await createType({ attachments: ['docs'], queries: [FILES_QUERY] });
    await shop.rows(`update rowpost.file set size = 12000000 where target = 'doc' and key = '{"id": 1}'`);
    try {
      expect(at(await preview(type), 'error')).to.deep.include({
        code: 'EMAIL_TOO_LARGE',
        field: 'attachments',
      });
    } finally {
      await shop.rows(`update rowpost.file set size = 10 where key = '{"id": 1}'`);
    }
  });

  it('are limited to a hundred', async () => {
    const type = await createType({ attachments: ['docs'], queries: [FILES_QUERY] });
    await shop.rows(
      `insert into rowpost.file (storagekey, tenantid, target, key, filenum, filename, mimetype, size, sha256, objectkey, roleid)
       select gen_random_uuid(), f.tenantid, f.target, f.key, 1000 + n, f.filename, f.mimetype, 1, f.sha256, 'none-' || n, f.roleid
       from (select * from rowpost.file where target = 'doc' and key = '{"id": 1}' limit 1) f, generate_series(1, 100) n`,
    );
    try {
      expect(at(await preview(type), 'error.code')).to.equal('TOO_MANY_ATTACHMENTS');
    } finally {
      await shop.rows(`delete from rowpost.file where objectkey like 'none-%'`);
    }
  });

  it('are retried if storage is down, but not if the bytes are gone', async () => {
    const type = await createType({ attachments: ['document'] });
    await rename(shop.folder, `${shop.folder}.away`);
    try {
      expect(await sendTest(type)).to.deep.equal({ sent: false, error: { code: 'STORAGE_UNAVAILABLE' } });
    } finally {
      await rename(`${shop.folder}.away`, shop.folder);
    }
    expect(await sendTest(type)).to.deep.equal({ sent: true, error: null });
    for (const object of await shop.objects()) await rm(object);
    expect(await sendTest(type)).to.deep.equal({ sent: false, error: { code: 'ATTACHMENT_MISSING' } });
  });

  it('must name columns or queries, checked when the type is saved', async () => {
    const reply = await save('bad', { attachments: ['../etc/passwd'] });
    expect(reply.errors?.[0]?.extensions.code).to.equal('BAD_USER_INPUT');
  });
});

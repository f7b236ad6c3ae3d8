import { expect } from 'chai';
import { pipelineConfig, startPipeline } from '../../../delivery/pipelineSetup.js';
import { startFakeProvider } from '../../../support/fakeProvider.js';
import { waitFor } from '../../../support/waitFor.js';
import { openFileShop } from '../../../files/fileShop.js';
import { killUploads } from '../../../files/kill/killUploads.js';
import { STEPS } from '../../../files/kill/steps.js';

/** KILLS=100 is the long form. */
const KILLS = Number(process.env['KILLS'] ?? 3);
const MS_PER_KILL = 20_000;

describe('files: kill -9 at each step of an upload', function () {
  this.timeout(600_000 + KILLS * MS_PER_KILL);

  it(`leaves no bytes without a record, no record without bytes, and no email without both (${KILLS} kills, ${STEPS.length} uploads each)`, async () => {
    const provider = await startFakeProvider();
    const shop = await openFileShop({ env: { MAIL_TRANSPORT: 'sendgrid', SENDGRID_BASE_URL: provider.url } });
    try {
      await shop.sql('insert into doc select n from generate_series(4, 20) n');
      await createUploadRule(shop.fixture.control.bind(shop.fixture, shop.root));
      const report = await killUploads(shop, KILLS);
      expect(report.problems).to.deep.equal([]);
      // 'recorded' always, and 'recording' and 'syncing' at times.
      expect(report.files).to.be.within(KILLS, KILLS * 4);

      const config = await pipelineConfig('postgres', {
        SENDGRID_BASE_URL: provider.url,
        STORAGE_URL: `file:${shop.folder}`,
      });
      const pipeline = await startPipeline(shop.fixture.testDatabase.database, config, shop.fixture);
      await waitFor('an email for each file', () => provider.calls.length >= report.files);
      await pipeline.stop();
      const emailed = provider.calls.map(({ body }) => body.subject).sort();
      const files = await shop.rows<{ storagekey: string }>(
        'select storagekey from rowpost.file order by storagekey',
      );
      expect(emailed).to.deep.equal(files.map((file) => file.storagekey).sort());
      if (KILLS > 10) console.log(report);
    } finally {
      await shop.close();
      await provider.stop();
    }
  });
});

type Control = (query: string, variables?: unknown) => Promise<{ readonly errors?: unknown }>;

async function createUploadRule(control: Control): Promise<void> {
  await control('mutation { set_email_apikey(apikey: "SG.key") { apikey } }');
  const type = await control(
    'mutation ($input: email_typesInput) { create_email_type(input: $input) { email_type } }',
    {
      input: {
        email_type: 'uploaded',
        template: '{{ file.filename }}',
        subject: '{{ file.storagekey }}',
        recipients: ['ada@example.com'],
        sender: 'shop@example.com',
        attachments: ['file'],
      },
    },
  );
  const rule = await control(
    'mutation ($input: email_ruleInput) { create_email_rule(input: $input) { ruleid } }',
    {
      input: {
        name: 'uploads',
        email_type: 'uploaded',
        operations: ['upload'],
        targets: ['doc'],
        query_roleid: 2,
      },
    },
  );
  expect([type.errors, rule.errors]).to.deep.equal([undefined, undefined]);
}

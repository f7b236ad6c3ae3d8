import { expect } from 'chai';
import { writeFile, mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runDemo } from '../../../src/embedded/demo/demo.js';
import { findFreePort } from '../../../src/embedded/freePort.js';
import { runRowpost, startProcess, type RowpostProcess } from '../../support/rowpostProcess.js';
import { createTestDatabase, type TestDatabase } from '../../support/testDatabase.js';

const PASSWORD = 'a password for pxadmin';

describe('the demo without a worker', () => {
  let db: TestDatabase;
  let web: RowpostProcess;
  let folder: string;
  let env: Record<string, string>;

  before(async () => {
    db = await createTestDatabase();
    folder = await mkdtemp(path.join(os.tmpdir(), 'rowpost-demo-'));
    env = {
      DATABASE_URL: db.url,
      PORT: String(await findFreePort()),
      PXADMIN_PASSWORD: PASSWORD,
      STORAGE_URL: `file:${folder}/files`,
    };
    expect((await runRowpost(['release'], env)).code).to.equal(0);
    web = await startProcess(['web'], env);
  });
  after(async () => {
    await web.kill('SIGTERM');
    await db.drop();
    await rm(folder, { recursive: true });
  });

  it('names each email that did not arrive', async () => {
    const told: string[] = [];
    const missing = await runDemo(
      {
        baseUrl: `http://localhost:${env['PORT'] ?? ''}`,
        pxadminPassword: PASSWORD,
        async runTenantSql(tenantid, sql) {
          const file = path.join(folder, 'shop.sql');
          await writeFile(file, sql);
          const outcome = await runRowpost(['tenant', 'sql', '--tenant', String(tenantid), '-f', file], env);
          expect(outcome.code, outcome.stderr).to.equal(0);
        },
      },
      { write: (text) => told.push(text), colors: false },
      { emailDeadlineMs: 200 },
    );
    expect(missing).to.deep.equal(['order_confirmation', 'order_shipped', 'invoice', 'farewell']);
    expect(told.join(''))
      .to.include('the email “farewell” has not arrived: no delivery')
      .and.not.include('\u001b');
  });
});

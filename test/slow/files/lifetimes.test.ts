import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'chai';
import { systemClock } from '../../../src/foundation/clock.js';
import { openQueue } from '../../../src/queue/openQueue.js';
import { startRelay } from '../../../src/relay/relay.js';
import { testConfig, testLog } from '../../support/testConfig.js';
import { waitFor } from '../../support/waitFor.js';
import { onFixture, openFileShop, type FileJson, type FileShop } from '../../files/fileShop.js';

const SECOND = 1_000;

describe('files: lifetimes of URLs and bytes', () => {
  const clock = { ms: 0, now: () => clock.ms };
  let shop: FileShop;
  let file: FileJson;

  before(async () => {
    clock.ms = Date.now();
    shop = await openFileShop({ clock, env: { FILE_URL_SECONDS: '60', FILE_LINK_SECONDS: '120' } });
    file = await shop.store('ten.txt', '0123456789');
  });
  after(() => shop.close());
  beforeEach(() => {
    clock.ms = Date.now();
  });

  it('upload URLs and URLs in responses: FILE_URL_SECONDS', async () => {
    const [put, late] = [await shop.promise(), await shop.promise()];
    const [{ url }] = (await shop.files()) as [FileJson];
    clock.ms += 55 * SECOND;
    expect((await shop.put(put, 'x')).status).to.equal(201);
    expect((await fetch(url!)).status).to.equal(200);
    clock.ms += 6 * SECOND;
    expect(await shop.put(late, 'x'))
      .to.deep.include({ status: 410 })
      .and.nested.include({
        'body.code': 'FILE_URL_EXPIRED',
      });
    expect((await fetch(url!)).status).to.equal(410);
  });

  it('links in emails: FILE_LINK_SECONDS', async () => {
    const { fixture, tenantid } = shop;
    const [{ roleid }] = (await shop.rows<{ roleid: number }>(
      `select roleid from rowpost.role where tenantid = $1 and login = 'root'`,
      [tenantid],
    )) as [{ roleid: number }];
    const link = onFixture(fixture, fixture.engine.fileLink({ tenantid, roleid }, file.storagekey));
    clock.ms += 115 * SECOND;
    expect((await fetch(link)).status).to.equal(200);
    clock.ms += 6 * SECOND;
    expect((await fetch(link)).status).to.equal(410);
  });

  it('bytes of rows deleted with SQL', async () => {
    await shop.store('of-three.txt', 'three', 3);
    const before = (await shop.objects()).length;
    await shop.sql('delete from doc where id = 3');
    const { database } = shop.fixture.testDatabase;
    const config = testConfig({
      DATABASE_URL: shop.fixture.testDatabase.url,
      STORAGE_URL: `file:${shop.folder}`,
      FILE_SWEEP_MS: '100',
      FILE_ORPHAN_SECONDS: '2',
    });
    const queue = await openQueue(config, database, testLog);
    const relay = startRelay({ config, log: testLog, clock: systemClock, database, queue });
    const startedMs = Date.now();
    await delay(SECOND);
    expect(await shop.objects()).to.have.length(before);
    await waitFor('its bytes to go', async () => (await shop.objects()).length === before - 1);
    expect(Date.now() - startedMs).to.be.above(1.5 * SECOND);
    await relay.stop();
    await queue.close();
  });
});

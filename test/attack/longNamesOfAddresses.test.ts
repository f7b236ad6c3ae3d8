import { expect } from 'chai';
import { createLedger } from '../../src/db/pool/ledgerPool.js';
import { statement } from '../../src/db/sql/sql.js';
import { parseAddresses } from '../../src/email/addresses.js';
import {
  countStates,
  createRule,
  createTenant,
  pipelineConfig,
  QUEUE,
  startPipeline,
  writeEvents,
  type Pipeline,
} from '../delivery/pipelineSetup.js';
import { cpuTimer } from '../support/cpuTime.js';
import { startFakeProvider, type FakeProvider } from '../support/fakeProvider.js';
import { watchEventLoop } from '../support/loopBlocks.js';
import { createTestDatabase, type TestDatabase } from '../support/testDatabase.js';
import { waitFor } from '../support/waitFor.js';

const EMAILS = 20;
/** For a busy machine; it was seconds, and none was sent within its lease. */
const MAX_HELD_MS = 1_500;
/** An address with a name of nothing but characters that are escaped wherever it is quoted. */
const named = (characters: number, login = 'ada'): string =>
  `"${'\\"'.repeat(characters)}" <${login}@example.com>`;

/** Each quote in a name was escaped in the address, again in JSON and again in an array, for many emails in one statement. */
describe('attack: addresses with names that are long to quote', () => {
  let db: TestDatabase;
  let provider: FakeProvider;
  let pipeline: Pipeline;
  before(async () => {
    db = await createTestDatabase();
    provider = await startFakeProvider();
    const config = await pipelineConfig(QUEUE, { SENDGRID_BASE_URL: provider.url });
    pipeline = await startPipeline(db.database, config);
  });
  after(async () => {
    await pipeline.stop();
    await provider.stop();
    await db.drop();
  });

  const heldMs = async (recipients: readonly string[], state: string): Promise<number> => {
    const tenant = await createTenant(db.database);
    await createRule(db.database, tenant, { recipients });
    const longestMs = watchEventLoop();
    await writeEvents(db.database, tenant, EMAILS);
    await waitFor(
      'their ends',
      async () => (await countStates(db.database, tenant.tenantid))[state] === EMAILS,
      { timeoutMs: 20_000 },
    );
    return longestMs();
  };

  it('are no addresses above a thousand characters', async () => {
    expect(parseAddresses(named(1_000))).to.have.nested.property('valid.length', 1);
    expect(parseAddresses(named(1_001)).invalid).to.deep.equal([named(1_001)]);
    expect(await heldMs([named(220_000)], 'skipped')).to.be.below(MAX_HELD_MS);
  });

  it('do not hold a worker up, however many they are', async () => {
    const recipients = Array.from({ length: 95 }, (_, index) => named(998, `ada${index}`));
    expect(await heldMs(recipients, 'sent')).to.be.below(MAX_HELD_MS);
  });

  it('are stored as they are', async () => {
    const ledger = createLedger(db.database.pool);
    const texts = ['\\"', '"'.repeat(1_000), 'é"\\\u{1f600}\n', '', null, '{,}', 'NULL'];
    const [row] = await ledger.query<{ texts: unknown }>({ text: statement`select $1::text[] as texts` }, [
      texts,
    ]);
    expect(row?.texts).to.deep.equal(texts);
  });

  it('are put into arrays in time proportional to their length', async () => {
    const text = '\\"'.repeat(1024 * 1024);
    const cpuMs = cpuTimer();
    const ledger = createLedger(db.database.pool);
    await ledger.query({ text: statement`select octet_length(array_to_string($1::text[], ''))` }, [[text]]);
    expect(cpuMs()).to.be.below(350);
  });
});

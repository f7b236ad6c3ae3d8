// A process that takes uploads, each of which it carries to the step that its address names. Started by killUploads.ts.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PassThrough, Transform, type Readable } from 'node:stream';
import { UnidentifiedTurns } from '../../../src/api/http/unidentifiedTurns.js';
import { createFilesEndpoint } from '../../../src/api/files/filesEndpoint.js';
import { createObjectLeases } from '../../../src/api/files/objectLeases.js';
import type { FileDeps } from '../../../src/api/files/fileDeps.js';
import { systemClock } from '../../../src/foundation/clock.js';
import { loadConfig } from '../../../src/process/loadConfig.js';
import { openDatabase } from '../../../src/db/pool/database.js';
import { PrincipalSource } from '../../../src/db/roles/principal.js';
import type { FileStorage } from '../../../src/files/storage/fileStorage.js';
import { openStorage } from '../../../src/files/storage/openStorage.js';
import { createDataEngine } from '../../../src/graphql/dataEngine.js';
import { KeyRing } from '../../../src/config/secrets.js';
import { TEST_BUDGET, TEST_SECRET_KEYS, testKeyRing, testLog } from '../../support/testConfig.js';
import type { Step } from './steps.js';

const FIRST_BYTES = 50_000;

const config = loadConfig(process.env);
const step = new AsyncLocalStorage<Step | undefined>();
const reached = (): void => void process.send?.(step.getStore());
/** Tells the parent, and stands still until the process is killed. */
const standAt = async (name: Step): Promise<void> => {
  if (step.getStore() !== name) return;
  reached();
  await new Promise(() => undefined);
};
/** Tells the parent, and goes on. */
const passing = (name: Step): void => {
  if (step.getStore() === name) reached();
};

/** Holds back all bytes after the first, or the end. */
function held(bytes: Readable): Readable {
  const name = step.getStore();
  let count = 0;
  const limiter =
    name === 'first bytes'
      ? new Transform({
          transform(chunk: Buffer, _encoding, done) {
            count += chunk.length;
            if (count < FIRST_BYTES) done(null, chunk);
            else void standAt('first bytes');
          },
        })
      : name === 'all bytes'
        ? new Transform({ flush: () => void standAt('all bytes') })
        : new PassThrough();
  if (name === 'all bytes') limiter._transform = (chunk, _encoding, done) => done(null, chunk);
  passing('writing');
  bytes.once('end', () => passing('syncing'));
  return bytes.pipe(limiter);
}

const database = openDatabase({
  url: config.databaseUrl ?? '',
  budget: TEST_BUDGET,
  keyRing: testKeyRing,
  requestTimeoutMs: config.requestTimeoutMs,
  statementTimeoutMs: config.statementTimeoutMs,
  lockTimeoutMs: config.lockTimeoutMs,
  poolTimeoutMs: config.poolTimeoutMs,
  applicationName: 'uploads under test',
  log: testLog,
});
const engine = createDataEngine({ database, config, log: testLog });
const folder = openStorage(config);
const storage: FileStorage = {
  ...folder,
  async write(objectkey, bytes, size, signal) {
    await folder.write(objectkey, held(bytes), size, signal);
    await standAt('durable');
  },
};
const watched: FileDeps['engine'] = {
  async requireFileRow(...args) {
    await engine.requireFileRow(...args);
    await standAt('begun');
  },
  async recordFile(...args) {
    passing('recording');
    const file = await engine.recordFile(...args);
    await standAt('recorded');
    return file;
  },
};
const endpoint = createFilesEndpoint({
  database,
  config,
  log: testLog,
  clock: systemClock,
  keyRing: KeyRing.parse(TEST_SECRET_KEYS),
  principals: new PrincipalSource(database.pool),
  engine: watched,
  storage,
  leases: createObjectLeases(database, testLog),
  turns: new UnidentifiedTurns(database.pool, config),
});
const server = createServer((req, res) => {
  const name = new URL(req.url ?? '', 'http://x').searchParams.get('step');
  void step.run((name ?? undefined) as Step | undefined, () => endpoint(req, res));
});
server.listen(0, () => process.send?.((server.address() as AddressInfo).port));
// It ends with the test, however that ends.
process.on('disconnect', () => process.exit());

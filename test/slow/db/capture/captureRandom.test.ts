import { expect } from 'chai';
import { testSeed } from '../../../support/randomNumbers.js';
import { openCaptureFixture, type CaptureFixture } from '../../../db/capture/captureFixture.js';
import {
  addAudit,
  differences,
  RANDOM_DDL,
  RANDOM_TABLES,
  writeAtRandom,
} from '../../../db/capture/captureRandom.js';

const SESSIONS = 16;
/** Of one session. `CAPTURE_STATEMENTS=62500` makes a million in all. */
const STATEMENTS = Number(process.env['CAPTURE_STATEMENTS'] ?? 60);
/** No statement begins after so many. */
const MINUTES = Number(process.env['CAPTURE_MINUTES'] ?? 60);

describe('capture under load', () => {
  let fixture: CaptureFixture;
  before(async () => (fixture = await openCaptureFixture(RANDOM_DDL, RANDOM_TABLES)));
  after(() => fixture.close());

  it('has exactly one event per committed change, and no others', async function () {
    this.timeout(600_000 + SESSIONS * STATEMENTS * 100);
    const untilMs = Date.now() + MINUTES * 60_000;
    const { writer } = fixture;
    await addAudit(writer);
    const seed = testSeed();
    const clients = await Promise.all(Array.from({ length: SESSIONS }, () => fixture.connect()));
    const errors = new Map<string, number>();
    const done = await Promise.all(
      clients.map((client, index) =>
        writeAtRandom(fixture, client, { seed: seed + index, statements: STATEMENTS, untilMs, errors }),
      ),
    );
    const { rows } = await writer.query<{ n: number }>('select count(*)::int as n from audit');
    const statements = done.reduce((sum, count) => sum + count, 0);
    if (STATEMENTS > 1_000)
      console.log(
        `      ${statements} statements, ${rows[0]?.n} changes, errors ${JSON.stringify([...errors])}`,
      );
    expect(rows[0]?.n, `seed ${seed}`).to.be.above(statements / 2);
    expect(await differences(writer), `seed ${seed}`).to.deep.equal([]);
  });
});
